import type { Chain } from "../chain/chain.ts";
import { requireExecutionError } from "../chain/chain-error.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { JsonRpcFailure } from "#daemon/json-rpc.ts";
import { isNonceUsed, readCover, refuseUncovered } from "../chain/transfer-method.ts";
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
  return (await diagnose(payment, chain)) ?? explainSimulation(answer.error, gas.most(payment));
}

async function diagnose(payment: SignedPayment, chain: Chain): Promise<Refusal | undefined> {
  const { asset, payer, amount, authorization } = payment;
  const [isUsed, { held, isAllowance }] = await Promise.all([
    isNonceUsed({ ...payment, authorizationNonce: authorization.nonce }, chain),
    readCover(payment, chain),
  ]);
  if (isUsed) {
    const message = "the authorization was used or cancelled before; sign one with a new nonce.";
    return { reason: reason.nonceUsed, message };
  }
  return held < amount ? refuseUncovered({ asset, payer, amount }, { held, isAllowance }) : undefined;
}

function explainSimulation(error: JsonRpcFailure, gasLimit: bigint): Refusal {
  requireExecutionError(error);
  return {
    reason: reason.simulation,
    message: `the token refuses the transfer (with up to ${gasLimit} gas): ${error.message}.`,
  };
}
