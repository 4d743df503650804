import { isConfirmed, type Head, type Receipt } from "../../chain/chain.ts";
import { computeFeeLimit, raiseFees } from "../../chain/fees.ts";
import type { Hex } from "#x402/hex.ts";
import { showsSharedTransfer, showsTransfer } from "../../chain/transfer-method.ts";
import type { Cause } from "./diagnosis.ts";
import type { SettlementSettings } from "../settings.ts";
import type { Attempt, Outcome, InFlightSettlement } from "../settlement.ts";

export type Observation = Readonly<{
  head: Head;
  nextNonces: ReadonlyMap<Hex, number>;
  receipts: ReadonlyMap<Hex, Receipt>;
  /** Monotonic time in milliseconds, like the times of an in-flight settlement. */
  nowMs: number;
}>;

type DecisionOptions = Pick<SettlementSettings, "confirmations" | "bumpAfterMs" | "bumpPercent" | "maxFeePerGasGwei">;

/**
 * Decision about one settlement.
 * - `diagnose`: its own transactions did not and will not execute it; find out whether a third party's transaction did.
 * - `resend`: send the same signed bytes to the node again.
 * - `replace`: offer a higher fee at the nonce; if `resends`, send the same bytes as well, because fees may be unavailable.
 */
export type Decision = Readonly<
  | { kind: "wait" }
  | { kind: "finish"; outcome: Outcome }
  | { kind: "diagnose"; cause: Cause }
  | { kind: "resend" }
  | { kind: "replace"; nonce: number; resends: boolean }
>;

/** Delay before the same bytes are resent: nodes drop transactions, and some never reported whether they accepted them. */
const resendAfterMs = 5_000;
/** Delay after which a used nonce without a receipt counts as lost: with several nodes behind one URL, one may just be lagging. */
const lostAfterMs = 3_000;
/** Time past `validBefore` in which a block with the settlement could still appear on a lagging node. */
const expiryMarginSeconds = 30n;
const attemptsMax = 20;

const wait: Decision = { kind: "wait" };

/** Decides by the current state of settlement and chain, not by their history. Changes nothing. */
export function decide(entry: InFlightSettlement, observed: Observation, options: DecisionOptions): Decision {
  const newestAttempt = entry.attempts.at(-1);
  if (newestAttempt === undefined || entry.queued) return wait;
  const receipts = entry.attempts.flatMap(({ hash }) => observed.receipts.get(hash) ?? []);
  const executedReceipts = receipts.filter((receipt) => isExecuted(entry, receipt));
  const settledReceipt = executedReceipts.find((receipt) => showsTransfer(receipt, entry.settlement));
  if (settledReceipt !== undefined) return finishSuccess(entry, settledReceipt, observed, options);
  const mayStillSettle = entry.attempts.some((attempt) => isOpen(attempt, observed));
  if (receipts.length > 0 && !mayStillSettle) {
    const cause = executedReceipts.length > 0 ? "nothing_moved" : "reverted";
    const areConfirmed = receipts.every((receipt) => isConfirmed(receipt, observed.head, options));
    return areConfirmed ? diagnoseWhenDue(entry, cause, observed) : wait;
  }
  if (BigInt(observed.head.timestamp) > entry.settlement.validBefore + expiryMarginSeconds) {
    return diagnoseWhenDue(entry, "expired", observed);
  }
  if (!mayStillSettle) {
    const lostForMs = entry.lostSinceMs === undefined ? 0 : observed.nowMs - entry.lostSinceMs;
    return lostForMs >= lostAfterMs ? diagnoseWhenDue(entry, "lost", observed) : wait;
  }
  const resends = entry.sentAtMs === undefined || observed.nowMs - entry.sentAtMs >= resendAfterMs;
  // The next attempt in line is not always the newest, which may wait behind one whose nonce another transaction occupies in the pool.
  const nextInLine = entry.attempts.find(
    (attempt) =>
      attempt.signer === newestAttempt.signer &&
      isOpen(attempt, observed) &&
      attempt.nonce === observed.nextNonces.get(attempt.signer),
  );
  const isOld = observed.nowMs - entry.pricedAtMs >= options.bumpAfterMs;
  const isReplaced =
    nextInLine !== undefined && isOld && entry.attempts.length < attemptsMax && canPayMore(newestAttempt, options);
  if (isReplaced) return { kind: "replace", nonce: nextInLine.nonce, resends };
  return resends ? { kind: "resend" } : wait;
}

/** Returns whether a mined transaction executed the settlement; in a shared transaction, single settlements may fail. */
export function isExecuted(
  { settlement, attempts }: Pick<InFlightSettlement, "settlement" | "attempts">,
  receipt: Receipt,
): boolean {
  if (receipt.status !== 1) return false;
  const isShared = attempts.some(({ hash, batch }) => hash === receipt.transactionHash && batch !== undefined);
  return !isShared || showsSharedTransfer(receipt, settlement);
}

/** Decides on a diagnosis, unless the last one for the same cause was inconclusive and the next one is not due. */
function diagnoseWhenDue({ diagnosed }: InFlightSettlement, cause: Cause, { nowMs }: Observation): Decision {
  return diagnosed?.cause === cause && nowMs < diagnosed.retryAtMs ? wait : { kind: "diagnose", cause };
}

function canPayMore(newestAttempt: Attempt, { bumpPercent, maxFeePerGasGwei }: DecisionOptions): boolean {
  // Quotes have the same limit, so only the old fee determines whether it can be raised.
  return (
    raiseFees(newestAttempt, newestAttempt, { percent: bumpPercent, limit: computeFeeLimit(maxFeePerGasGwei) }) !==
    undefined
  );
}

export function isOpen({ signer, nonce, hash }: Attempt, observed: Observation): boolean {
  if (observed.receipts.has(hash)) return false;
  return nonce >= (observed.nextNonces.get(signer) ?? 0);
}

function finishSuccess(
  { settlement: { amount } }: InFlightSettlement,
  receipt: Receipt,
  observed: Observation,
  options: DecisionOptions,
): Decision {
  if (!isConfirmed(receipt, observed.head, options)) return wait;
  return { kind: "finish", outcome: { state: "settled", transaction: receipt.transactionHash, amount } };
}
