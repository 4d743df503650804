import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import type { Pause } from "#daemon/time.ts";
import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import { encodeAddress, encodeInteger, type Hex } from "#x402/hex.ts";
import { isConfirmed, type Chain } from "../chain/chain.ts";
import { createFeeQuotes } from "../chain/fees.ts";
import { createGasLimits } from "../chain/gas-limits.ts";
import { createLocalKey, createTransactionSigner, type TransactionSigner } from "../chain/transaction-signer.ts";
import type { Settlement } from "../settlement/settlement.ts";
import { findSettled } from "../settlement/ledger/settlement-queries.ts";
import { createRefundStore, type Refund, type Refunds, type SignedRefund } from "../settlement/ledger/refunds.ts";
import { showsTransfer } from "../chain/transfer-method.ts";
import type { NetworkOptions } from "../network-options.ts";
import type { LedgerAccess } from "./open-ledger-access.ts";

/** Refund request: a payment, by its name or its settlement's id, and the amount; default: all of it. */
export type RefundRequest = Readonly<{
  payment: string;
  amount: bigint | undefined;
  key: Secret;
  again: boolean;
}>;

export type RefundDependencies = LedgerAccess &
  Readonly<{
    output: CommandOutput;
    confirm: () => Promise<boolean>;
    clock: () => number;
    monotonicMs: () => number;
    pause: Pause;
    signal: AbortSignal;
  }>;

/** The refund can't be made, or its outcome is unknown; the message says what to do. */
export class RefundError extends Error {
  override readonly name = "RefundError";
  readonly code = "not_refunded";
}

type RefundCase = Readonly<{
  settlement: Settlement;
  network: NetworkOptions;
  chain: Chain;
  signer: TransactionSigner;
  refunds: Refunds;
}>;

const pollMs = 500;

/**
 * Sends a payment back from the payee's account to the payer, once. The signed transaction is recorded before it is
 * sent, and every later run looks for it on the chain, so that a kill never causes a second refund.
 *
 * @throws {RefundError} if the payment is not refunded, or not yet.
 */
export async function refundPayment(request: RefundRequest, dependencies: RefundDependencies): Promise<void> {
  const { store, clock, output } = dependencies;
  const paidSettlement = await findPaidSettlement(request.payment, dependencies);
  if (paidSettlement === undefined)
    throw new RefundError(
      `the ledger has no settled payment ${request.payment}; "gatehouse ledger export" lists them.`,
    );
  const { network, settlement } = paidSettlement;
  if (readChannelCall(settlement) !== undefined)
    throw new RefundError(
      `${request.payment} belongs to a channel (batch-settlement), and can't be refunded here; the channel's seller refunds the channel.`,
    );
  const signer = createTransactionSigner(createLocalKey(request.key));
  if (signer.address.toLowerCase() !== settlement.payTo.toLowerCase())
    throw new RefundError(
      `the key belongs to ${signer.address}, but ${settlement.payTo} was paid; use the payee's key.`,
    );
  const refunds = createRefundStore({ chainId: network.chain.id }, { store, clock });
  const { chain } = await dependencies.connect(network);
  const refundCase: RefundCase = { settlement, signer, refunds, chain, network };
  const record = await refunds.find(settlement.id);
  if (
    record !== undefined &&
    request.amount !== undefined &&
    record.state !== "failed" &&
    record.amount !== request.amount
  )
    throw new RefundError(`a refund of ${record.amount} is already recorded; omit --amount to complete it.`);
  if (record?.state === "refunded") return output.out(`already refunded: ${record.amount} by ${record.hash}\n`);
  const isLost = request.again && record?.state === "sent" && (await hasLost(record, signer, chain));
  if (record?.state === "sent" && !isLost) return follow(record, refundCase, dependencies);
  const lostHash = isLost ? record?.hash : undefined;
  const sign = await planRefund(refundCase, request, dependencies);
  if (sign === undefined) throw new RefundError("not confirmed; nothing was sent.");
  return follow(await recordRefund(sign, lostHash, refundCase, dependencies), refundCase, dependencies);
}

/** Max attempts to find a nonce without another refund by the payee. */
const noncesMax = 10;

async function recordRefund(
  sign: () => Promise<SignedRefund>,
  lostHash: Hex | undefined,
  { refunds }: RefundCase,
  { pause, signal }: RefundDependencies,
): Promise<Refund> {
  for (let attempt = 1; ; attempt += 1) {
    const signed = await sign();
    if (await refunds.begin(signed, lostHash)) return { ...signed, state: "sent" };
    const other = await refunds.findByNonce(signed);
    if (other === undefined || other === signed.id)
      throw new RefundError("another run has just recorded a refund of it; rerun the same command to track that one.");
    if (attempt === noncesMax || signal.aborted)
      throw new RefundError(
        `the refund of ${other} has the next nonce of ${signed.signer}, ${signed.nonce}, and is not on the chain yet; complete it first: gatehouse ledger refund ${other}`,
      );
    await pause(pollMs, signal);
  }
}

async function findPaidSettlement(payment: string, { networks, store }: LedgerAccess) {
  for (const network of networks) {
    const settlement = await findSettled(payment, { chainId: network.chain.id }, { store });
    if (settlement !== undefined) return { network, settlement };
  }
  return undefined;
}

/**
 * Shows what a refund costs. Returns a function that signs it with the payee's next nonce; undefined if the operator does not confirm it.
 */
async function planRefund(
  { settlement, signer, chain, network }: RefundCase,
  { amount = settlement.amount }: RefundRequest,
  { monotonicMs, output, confirm }: RefundDependencies,
): Promise<(() => Promise<SignedRefund>) | undefined> {
  const { id, asset, payer } = settlement;
  const {
    settlement: limits,
    chain: { id: chainId },
  } = network;
  if (amount <= 0n || amount > settlement.amount)
    throw new RefundError(`the payment was ${settlement.amount}; refund from 1 to that, in the token's smallest unit.`);
  const transfer = { ...settlement, contract: asset, callData: encodeTransfer(payer, amount) };
  const gas = createGasLimits({ ...limits, entriesMax: 1 }, { signer: signer.address, monotonicMs });
  const estimate = await gas.estimate(transfer, chain);
  const gasLimit = gas.find(transfer);
  if (!estimate.ok || gasLimit === undefined)
    throw new RefundError(
      `the token rejects the transfer${estimate.ok ? "" : `: ${estimate.error.message}`}; fund ${signer.address} with ${asset}.`,
    );
  const fees = await createFeeQuotes(limits, { chain, monotonicMs }).quote();
  const cost = gasLimit * fees.maxFeePerGas;
  output.out(
    `refund ${amount} of ${settlement.amount} smallest units of ${asset}\n  from ${signer.address}\n  to ${payer}\n  gas: at most ${cost} wei (${gasLimit} at ${fees.maxFeePerGas})\n`,
  );
  const balance = await chain.balance(signer.address);
  if (balance < cost)
    throw new RefundError(
      `${signer.address} has ${balance} wei for gas; fund it with ${cost - balance} more, and rerun the command.`,
    );
  if (!(await confirm())) return undefined;
  return async () => {
    const nonce = await chain.transactionCount(signer.address, "pending");
    const signed = await signer.sign({ chainId, nonce, to: asset, data: transfer.callData, gas: gasLimit, ...fees });
    return { id, amount, signer: signer.address, nonce, ...signed };
  };
}

function encodeTransfer(to: Hex, amount: bigint): Hex {
  return `0xa9059cbb${encodeAddress(to)}${encodeInteger(amount)}`;
}

/** Sends a recorded refund, repeatedly if necessary, until its outcome is on the chain and recorded. */
async function follow(
  refund: Refund,
  { settlement, network, chain, signer, refunds }: RefundCase,
  { output, monotonicMs, pause, signal }: RefundDependencies,
): Promise<void> {
  const { hash, amount, nonce } = refund;
  const { receiptTimeoutMs } = network.settlement;
  const transfer = { ...settlement, payer: settlement.payTo, payTo: settlement.payer, amount };
  const untilMs = monotonicMs() + receiptTimeoutMs;
  let reply = "";
  for (let isSent = false; !signal.aborted && monotonicMs() < untilMs; await pause(pollMs, signal)) {
    // Read before the receipt, so that a transaction mined in between is still found.
    const isUsed = await isNonceUsed(refund, signer, chain);
    const [receipt, head] = await Promise.all([chain.receipt(hash), chain.head()]);
    if (receipt !== undefined && isConfirmed(receipt, head, network.settlement)) {
      if (receipt.status === 1 && !showsTransfer(receipt, transfer))
        throw new RefundError(`${hash} succeeded without the transfer; check it manually. Nothing is resent.`);
      await refunds.end(refund, receipt.status === 1 ? "refunded" : "failed");
      if (receipt.status === 1) return output.out(`refunded ${amount} by ${hash}\n`);
      throw new RefundError(
        `the transaction ${hash} reverted and transferred nothing; rerun the command to send another.`,
      );
    }
    if (receipt !== undefined || isSent) continue;
    if (isUsed)
      throw new RefundError(
        `the node does not have ${hash}, and another transaction of ${signer.address} used its nonce, ${nonce}. Check other nodes; only if none has it, rerun the command with --again.`,
      );
    const outcome = await chain.send(refund.rawTransaction);
    isSent = outcome.kind === "accepted";
    reply = isSent ? "" : ` (the node: ${"message" in outcome ? outcome.message : ""})`;
  }
  throw new RefundError(`${hash} is recorded but not on the chain yet${reply}; rerun the same command.`);
}

/** Returns whether a transaction can no longer be mined, because its nonce is used. */
async function hasLost(refund: Refund, signer: TransactionSigner, chain: Chain): Promise<boolean> {
  // In this order, because a transaction mined between the two queries has a receipt.
  return (await isNonceUsed(refund, signer, chain)) && (await chain.receipt(refund.hash)) === undefined;
}

async function isNonceUsed({ nonce }: Refund, { address }: TransactionSigner, chain: Chain): Promise<boolean> {
  return (await chain.transactionCount(address, "latest")) > nonce;
}
