import type { Chain } from "../chain/chain.ts";
import { ChainError } from "../chain/chain-error.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { JsonRpcFailure } from "#daemon/json-rpc.ts";
import { encodeAuthorizationState, encodeBalanceOfCall } from "../chain/token.ts";
import { encodeInteger } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/** Chain node, and the gas limits of payments. */
export type ChainCheckDependencies = Readonly<{ chain: Chain; gas: GasLimits }>;

/**
 * Checks on the chain whether a payment would settle now. One simulated call or estimate suffices for a good payment: the token itself
 * checks balance, nonce, time and signature, and the result sets the transaction's gas limit. Only if it fails do further requests
 * determine the reason.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function checkOnChain(
  payment: SignedPayment,
  { chain, gas }: ChainCheckDependencies,
): Promise<Refusal | undefined> {
  const answer = await gas.simulate(payment, chain);
  if (answer.ok) return undefined;
  return (await diagnose(payment, chain)) ?? explainSimulation(answer.error, gas.most);
}

async function diagnose(
  { asset, payer, amount, authorization }: SignedPayment,
  chain: Chain,
): Promise<Refusal | undefined> {
  const [used, balanceWord] = await Promise.all([
    chain.read({ to: asset, data: encodeAuthorizationState(payer, authorization.nonce) }),
    chain.read({ to: asset, data: encodeBalanceOfCall(payer) }),
  ]);
  if (used.slice(2) === encodeInteger(1n)) {
    const message = "the authorization was used or cancelled before; sign one with a new nonce.";
    return { reason: reason.nonceUsed, message };
  }
  const balance = balanceWord === "0x" ? 0n : BigInt(balanceWord);
  if (balance < amount) {
    return { reason: reason.balance, message: `${payer} holds ${balance} of ${asset}, the payment is ${amount}.` };
  }
  return undefined;
}

// Execution errors have code 3 if the contract gave a reason; nodes report others as -32000 or -32603 with these messages.
const executionError =
  /revert|out of gas|gas required exceeds|invalid opcode|stack (under|over)flow|bad instruction|invalid jump|intrinsic gas/i;

function explainSimulation({ code, message }: JsonRpcFailure, gasLimit: bigint): Refusal {
  if (code !== 3 && !executionError.test(message)) {
    throw new ChainError("refused", `the node refused to simulate the payment: ${message} (code ${code})`);
  }
  return {
    reason: reason.simulation,
    message: `the token refuses the transfer (with up to ${gasLimit} gas): ${message}.`,
  };
}
