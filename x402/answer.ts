import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import type { Hex } from "./hex.ts";
import { reason, type Reason, type Rejection } from "./reason.ts";

/**
 * A payment's outcome as reported to the caller over HTTP. `/verify` returns `valid` or `rejected`, `/settle`
 * everything but `valid`. The facilitator's ledger stores another union, `RecordedSettlement`.
 *
 * - `valid`: it would settle now;
 * - `rejected`: nothing was sent, and nothing is charged;
 * - `settled`: it was charged by this transaction;
 * - `unused`: a payment with a maximum was not used at all, so nothing was sent and nothing is charged;
 * - `failed`: the transaction charged nothing, and none will;
 * - `pending`: still unknown. The transaction is empty while a recorded settlement waits for a replica to send it;
 * - `duplicate`: the payment belongs to another caller.
 */
export type Answer = Readonly<
  | { state: "valid" }
  | { state: "rejected"; rejection: Rejection }
  | { state: "settled"; transaction: Hex; amount?: bigint }
  | { state: "unused" }
  | { state: "failed"; transaction: Hex; reason: Reason; message: string }
  | { state: "pending" | "duplicate"; transaction: Hex | "" }
>;

export type VerifyAnswer = Extract<Answer, { state: "valid" | "rejected" }>;

export type SettleAnswer = Exclude<Answer, { state: "valid" }>;

/**
 * Response about a payment, with its payer if known. `reportsAmount` means that the response includes the amount, because the payment has a
 * maximum.
 */
export type Answered<Said extends Answer> = Readonly<{
  answer: Said;
  payer: string | undefined;
  reportsAmount?: boolean;
  /** Amount to report instead, and the scheme's other data to report. */
  reported?: Readonly<{ amount?: string; extra?: Record<string, unknown> }>;
}>;

/** Maps the reason of a rejected or failed payment to the code that clients of its scheme expect. */
export function nameReasons<Said extends Answer>(
  answered: Answered<Said>,
  names: ReadonlyMap<Reason, Reason>,
): Answered<Said> {
  const { answer } = answered;
  if (answer.state === "rejected") {
    const { rejection } = answer;
    const named = { ...rejection, reason: names.get(rejection.reason) ?? rejection.reason };
    return { ...answered, answer: { ...answer, rejection: named } };
  }
  if (answer.state !== "failed") return answered;
  return { ...answered, answer: { ...answer, reason: names.get(answer.reason) ?? answer.reason } };
}

export type Rejected = Answered<Extract<Answer, { state: "rejected" }>>;

export function reject(rejection: Rejection, payer: string | undefined): Rejected {
  return { answer: { state: "rejected", rejection }, payer };
}

export function buildVerifyResponse({ answer, payer, reported }: Answered<VerifyAnswer>): VerifyResponse {
  if (answer.state === "valid") return { isValid: true, ...buildPayer(payer), ...reported };
  const { reason: invalidReason, message } = answer.rejection;
  return { isValid: false, invalidReason, invalidMessage: message, ...buildPayer(payer) };
}

type Network = SettleResponse["network"];

export function buildSettleResponse(
  { answer, payer, reportsAmount = false, reported }: Answered<SettleAnswer>,
  network: Network,
): SettleResponse {
  if (answer.state === "settled") {
    const amount = reportsAmount && answer.amount !== undefined ? { amount: String(answer.amount) } : {};
    return { success: true, transaction: answer.transaction, network, ...amount, ...buildPayer(payer), ...reported };
  }
  if (answer.state === "unused")
    return { success: true, transaction: "", network, amount: "0", ...buildPayer(payer), ...reported };
  const { reason: errorReason, message } = getRejection(answer);
  const transaction = answer.state === "rejected" ? "" : answer.transaction;
  return { success: false, errorReason, errorMessage: message, transaction, network, ...buildPayer(payer) };
}

function buildPayer(payer: string | undefined): Readonly<{ payer?: string }> {
  return payer === undefined ? {} : { payer };
}

function getRejection(answer: Exclude<SettleAnswer, { state: "settled" | "unused" }>): Rejection {
  switch (answer.state) {
    case "rejected":
      return answer.rejection;
    case "failed":
      return answer;
    case "duplicate":
    case "pending":
      return unknownYet[answer.state];
  }
}

/** Rejections returned instead of an outcome that the caller may not see. */
const unknownYet: Readonly<Record<"duplicate" | "pending", Rejection>> = {
  duplicate: {
    reason: reason.duplicate,
    message:
      "the payment belongs to the call that settled it first. Do not deliver anything for this one. To get the outcome of your own " +
      "settlement, send the same Idempotency-Key each time.",
  },
  pending: {
    reason: reason.pending,
    message: "the transaction was sent but its outcome is not known yet; settle the same payment again to get it.",
  },
};

/**
 * x402 reasons with which a facilitator reports its own fault as a verdict, such as an unresponsive node. They imply nothing about the
 * payment: requesting another one would charge a client twice if the first is still in flight.
 */
const inconclusive = /^unexpected_(?:verify_|settle_)?error$|_failed_to_(?!parse)|_read_failed$/;

/** Interprets a facilitator's response to `/verify` for a seller; returns undefined if it reports the facilitator's own fault. */
export function readVerifyState({ isValid, invalidReason = "" }: VerifyResponse): VerifyAnswer["state"] | undefined {
  if (isValid) return "valid";
  return inconclusive.test(invalidReason) ? undefined : "rejected";
}

/** Interprets a facilitator's response to `/settle` for a seller: charged, not charged, or still unknown. */
export function readSettleState({
  success,
  errorReason = "",
}: Pick<SettleResponse, "success" | "errorReason">): Extract<
  SettleAnswer["state"],
  "settled" | "rejected" | "pending"
> {
  if (success) return "settled";
  return errorReason === reason.pending || inconclusive.test(errorReason) ? "pending" : "rejected";
}
