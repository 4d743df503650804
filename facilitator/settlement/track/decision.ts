import type { Head, Receipt } from "../../chain/chain.ts";
import { computeFeeLimit, raiseFees } from "../../chain/fees.ts";
import type { Hex } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import { type Cause, showsTransfer } from "./diagnosis.ts";
import type { InFlight } from "../in-flight.ts";
import type { Attempt, Outcome } from "../settlement.ts";

/** State of the chain at one moment. */
export type Observation = Readonly<{
  head: Head;
  /** The signer's next nonce, by the blocks that there are. */
  nextNonce: number;
  signer: Hex;
  receipts: ReadonlyMap<Hex, Receipt>;
  /** Milliseconds of the monotonic clock, as the times of a settlement under way are. */
  nowMs: number;
}>;

/** Times at which to act, and limits on raising a fee. */
export type DecisionOptions = Readonly<{
  confirmations: number;
  bumpAfterMs: number;
  bumpPercent: number;
  maxFeePerGasGwei: number;
}>;

/**
 * Decision about one settlement.
 * - `diagnose`: its own transactions did not carry it out and will not; find out whether someone else's did.
 * - `resend`: give the node the same signed bytes again.
 * - `replace`: offer a higher fee at the same nonce.
 */
export type Decision = Readonly<
  | { kind: "wait" }
  | { kind: "finish"; outcome: Outcome }
  | { kind: "diagnose"; cause: Cause }
  | { kind: "resend" }
  | { kind: "replace" }
>;

/** Time after which the same bytes are sent again: nodes forget, and some never said whether they took them. */
const resendAfterMs = 5_000;
/** A nonce is used but no receipt is there: with several nodes behind one URL, that may just be one that lags. */
const lostAfterMs = 3_000;
/** Time past `validBefore` in which a block with the settlement could still turn up on a node that lags. */
const expiryMarginSeconds = 30n;
const attemptsMax = 20;

const wait: Decision = { kind: "wait" };

/** Decides by level: only from what the settlement is and what the chain shows, however it came to be so. Changes nothing. */
export function decide(entry: InFlight, seen: Observation, options: DecisionOptions): Decision {
  const newest = entry.attempts.at(-1);
  if (newest === undefined || entry.queued) return wait;
  const receipts = entry.attempts.flatMap(({ hash }) => seen.receipts.get(hash) ?? []);
  const settled = receipts.find(({ status }) => status === 1);
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
  // Comes before `replace`, so that a fee that can't be had just now does not keep the node from getting the bytes again.
  if (entry.sentAtMs === undefined || seen.nowMs - entry.sentAtMs >= resendAfterMs) return { kind: "resend" };
  const isNextInLine = newest.signer === seen.signer && newest.nonce === seen.nextNonce;
  const isOld = seen.nowMs - entry.pricedAtMs >= options.bumpAfterMs;
  const isReplaced = isNextInLine && isOld && entry.attempts.length < attemptsMax && canPayMore(newest, options);
  return isReplaced ? { kind: "replace" } : wait;
}

/** Decides on a diagnosis, unless the last one for the same cause found nothing certain and it is too early for another. */
function diagnoseWhenDue({ diagnosed }: InFlight, cause: Cause, { nowMs }: Observation): Decision {
  return diagnosed?.cause === cause && nowMs < diagnosed.againAtMs ? wait : { kind: "diagnose", cause };
}

function canPayMore(newest: Attempt, { bumpPercent, maxFeePerGasGwei }: DecisionOptions): boolean {
  // The limit holds for quotes as well, so the older fee alone decides whether there is room.
  return raiseFees(newest, newest, { percent: bumpPercent, limit: computeFeeLimit(maxFeePerGasGwei) }) !== undefined;
}

/** Whether a transaction could still get into a block: nothing has used its nonce yet. */
export function isOpen({ signer, nonce, hash }: Attempt, seen: Observation): boolean {
  if (seen.receipts.has(hash)) return false;
  return signer !== seen.signer || nonce >= seen.nextNonce;
}

function finishSuccess(entry: InFlight, receipt: Receipt, seen: Observation, options: DecisionOptions): Decision {
  if (!isConfirmed(receipt, seen, options)) return wait;
  const transaction = receipt.transactionHash;
  if (showsTransfer(receipt, entry.settlement)) return { kind: "finish", outcome: { state: "settled", transaction } };
  const message = "the transaction succeeded, but the token logged no transfer.";
  return { kind: "finish", outcome: { state: "failed", transaction, reason: reason.transferEvent, message } };
}

function isConfirmed({ blockNumber }: Receipt, { head }: Observation, { confirmations }: DecisionOptions): boolean {
  return head.number - blockNumber + 1 >= confirmations;
}
