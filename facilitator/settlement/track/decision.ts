import type { Head, Receipt } from "../../chain/chain.ts";
import { computeFeeLimit, raiseFees } from "../../chain/fees.ts";
import type { Hex } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import { showsSharedTransfer, showsTransfer } from "../../chain/transfer-method.ts";
import type { Cause } from "./diagnosis.ts";
import type { InFlight } from "../in-flight.ts";
import type { Attempt, Outcome } from "../settlement.ts";

/** Snapshot of the chain's state. */
export type Observation = Readonly<{
  head: Head;
  /** Signer's next nonce, according to mined blocks. */
  nextNonce: number;
  signer: Hex;
  receipts: ReadonlyMap<Hex, Receipt>;
  /** Monotonic time in milliseconds, like the times of an in-flight settlement. */
  nowMs: number;
}>;

/** Delays before actions, and limits on fee increases. */
export type DecisionOptions = Readonly<{
  confirmations: number;
  bumpAfterMs: number;
  bumpPercent: number;
  maxFeePerGasGwei: number;
}>;

/**
 * Decision about one settlement.
 * - `diagnose`: its own transactions did not and will not execute it; find out whether a foreign one did.
 * - `resend`: send the same signed bytes to the node again.
 * - `replace`: offer a higher fee at the same nonce.
 */
export type Decision = Readonly<
  | { kind: "wait" }
  | { kind: "finish"; outcome: Outcome }
  | { kind: "diagnose"; cause: Cause }
  | { kind: "resend" }
  | { kind: "replace" }
>;

/** Delay before the same bytes are resent: nodes drop transactions, and some never reported whether they accepted them. */
const resendAfterMs = 5_000;
/** Delay after which a used nonce without a receipt counts as lost: with several nodes behind one URL, one may just lag. */
const lostAfterMs = 3_000;
/** Time past `validBefore` in which a block with the settlement could still appear on a lagging node. */
const expiryMarginSeconds = 30n;
const attemptsMax = 20;

const wait: Decision = { kind: "wait" };

/** Decides level-triggered: only from the current state of the settlement and the chain, not from their history. Changes nothing. */
export function decide(entry: InFlight, seen: Observation, options: DecisionOptions): Decision {
  const newest = entry.attempts.at(-1);
  if (newest === undefined || entry.queued) return wait;
  const receipts = entry.attempts.flatMap(({ hash }) => seen.receipts.get(hash) ?? []);
  const settled = receipts.find((receipt) => isExecuted(entry, receipt));
  if (settled !== undefined) return finishSuccess(entry, settled, seen, options);
  const mayStillSettle = entry.attempts.some((attempt) => isOpen(attempt, seen));
  const reverted = receipts.at(-1);
  if (reverted !== undefined && !mayStillSettle) {
    return isConfirmed(reverted, seen, options) ? diagnoseWhenDue(entry, "reverted", seen) : wait;
  }
  if (BigInt(seen.head.timestamp) > entry.settlement.validBefore + expiryMarginSeconds) {
    return diagnoseWhenDue(entry, "expired", seen);
  }
  if (!mayStillSettle) {
    const lostForMs = entry.lostSinceMs === undefined ? 0 : seen.nowMs - entry.lostSinceMs;
    return lostForMs >= lostAfterMs ? diagnoseWhenDue(entry, "lost", seen) : wait;
  }
  // Comes before `replace`, so that temporarily unavailable fees do not prevent resending the bytes to the node.
  if (entry.sentAtMs === undefined || seen.nowMs - entry.sentAtMs >= resendAfterMs) return { kind: "resend" };
  const isNextInLine = newest.signer === seen.signer && newest.nonce === seen.nextNonce;
  const isOld = seen.nowMs - entry.pricedAtMs >= options.bumpAfterMs;
  const isReplaced = isNextInLine && isOld && entry.attempts.length < attemptsMax && canPayMore(newest, options);
  return isReplaced ? { kind: "replace" } : wait;
}

/** Returns whether a mined transaction executed the settlement: one that it shares succeeds although single settlements in it fail. */
export function isExecuted(
  { settlement, attempts }: Pick<InFlight, "settlement" | "attempts">,
  receipt: Receipt,
): boolean {
  if (receipt.status !== 1) return false;
  const isShared = attempts.some(({ hash, batch }) => hash === receipt.transactionHash && batch !== undefined);
  return !isShared || showsSharedTransfer(receipt, settlement);
}

/** Decides on a diagnosis, unless the last one for the same cause was inconclusive and the next one is not due. */
function diagnoseWhenDue({ diagnosed }: InFlight, cause: Cause, { nowMs }: Observation): Decision {
  return diagnosed?.cause === cause && nowMs < diagnosed.againAtMs ? wait : { kind: "diagnose", cause };
}

function canPayMore(newest: Attempt, { bumpPercent, maxFeePerGasGwei }: DecisionOptions): boolean {
  // Quotes have the same limit, so the older fee alone decides whether it can be raised.
  return raiseFees(newest, newest, { percent: bumpPercent, limit: computeFeeLimit(maxFeePerGasGwei) }) !== undefined;
}

/** Returns whether a transaction could still be mined, because its nonce is unused. */
export function isOpen({ signer, nonce, hash }: Attempt, seen: Observation): boolean {
  if (seen.receipts.has(hash)) return false;
  return signer !== seen.signer || nonce >= seen.nextNonce;
}

function finishSuccess(entry: InFlight, receipt: Receipt, seen: Observation, options: DecisionOptions): Decision {
  if (!isConfirmed(receipt, seen, options)) return wait;
  const transaction = receipt.transactionHash;
  const { amount } = entry.settlement;
  if (showsTransfer(receipt, entry.settlement))
    return { kind: "finish", outcome: { state: "settled", transaction, amount } };
  const message = "the transaction succeeded, but the token logged no transfer.";
  return { kind: "finish", outcome: { state: "failed", transaction, reason: reason.transferEvent, message } };
}

function isConfirmed({ blockNumber }: Receipt, { head }: Observation, { confirmations }: DecisionOptions): boolean {
  return head.number - blockNumber + 1 >= confirmations;
}
