import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import type { Hex } from "./hex.ts";
import { reason, type Reason, type Rejection } from "./reason.ts";

/**
 * A payment's outcome as reported to the caller over HTTP. `/verify` returns `valid` or `rejected`, `/settle` everything but `valid`. The
 * facilitator's ledger stores another union, `RecordedSettlement`.
 *
 * - `valid`: it would settle now;
 * - `rejected`: nothing was sent, and nothing is charged;
 * - `settled`: it was charged by this transaction;
 * - `unused`: none of a payment's maximum was used, so nothing was sent or charged;
 * - `failed`: the transaction charged nothing, and none will;
 * - `pending`: still unknown. The transaction is empty while a recorded settlement waits for a replica to send it;
 * - `duplicate`: the payment belongs to another caller.
 */
export type PaymentResult = Readonly<
  | { state: "valid" }
  | { state: "rejected"; rejection: Rejection }
  | { state: "settled"; transaction: Hex; amount?: bigint }
  | { state: "unused" }
  | { state: "failed"; transaction: Hex; reason: Reason; message: string }
  | { state: "pending" | "duplicate"; transaction: Hex | "" }
>;

export type VerifyResult = Extract<PaymentResult, { state: "valid" | "rejected" }>;

export type SettleResult = Exclude<PaymentResult, { state: "valid" }>;

/**
 * Response about a payment, with its payer if known. `reportsAmount` means that the response includes the amount, because the payment has a
 * maximum.
 */
export type ReportedResult<Result extends PaymentResult> = Readonly<{
  result: Result;
  payer: string | undefined;
  reportsAmount?: boolean;
  /** Amount to report instead, and the scheme's other data to report. */
  reported?: Readonly<{ amount?: string; extra?: Record<string, unknown> }>;
}>;

/** Maps the reason of a rejected or failed payment to the code that clients of its scheme expect. */
export function nameReasons<Result extends PaymentResult>(
  answered: ReportedResult<Result>,
  names: ReadonlyMap<Reason, Reason>,
): ReportedResult<Result> {
  const { result } = answered;
  if (result.state === "rejected") {
    const { rejection } = result;
    const namedRejection = { ...rejection, reason: names.get(rejection.reason) ?? rejection.reason };
    return { ...answered, result: { ...result, rejection: namedRejection } };
  }
  if (result.state !== "failed") return answered;
  return { ...answered, result: { ...result, reason: names.get(result.reason) ?? result.reason } };
}

export type Rejected = ReportedResult<Extract<PaymentResult, { state: "rejected" }>>;

export function reject(rejection: Rejection, payer: string | undefined): Rejected {
  return { result: { state: "rejected", rejection }, payer };
}

export function buildVerifyResponse({ result, payer, reported }: ReportedResult<VerifyResult>): VerifyResponse {
  if (result.state === "valid") return { isValid: true, ...buildPayer(payer), ...reported };
  const { reason: invalidReason, message } = result.rejection;
  return { isValid: false, invalidReason, invalidMessage: message, ...buildPayer(payer) };
}

type Network = SettleResponse["network"];

export function buildSettleResponse(
  { result, payer, reportsAmount = false, reported }: ReportedResult<SettleResult>,
  network: Network,
): SettleResponse {
  if (result.state === "settled") {
    const amount = reportsAmount && result.amount !== undefined ? { amount: String(result.amount) } : {};
    return { success: true, transaction: result.transaction, network, ...amount, ...buildPayer(payer), ...reported };
  }
  if (result.state === "unused")
    return { success: true, transaction: "", network, amount: "0", ...buildPayer(payer), ...reported };
  const { reason: errorReason, message } = getRejection(result);
  const transaction = result.state === "rejected" ? "" : result.transaction;
  return { success: false, errorReason, errorMessage: message, transaction, network, ...buildPayer(payer) };
}

function buildPayer(payer: string | undefined): Readonly<{ payer?: string }> {
  return payer === undefined ? {} : { payer };
}

function getRejection(result: Exclude<SettleResult, { state: "settled" | "unused" }>): Rejection {
  switch (result.state) {
    case "rejected":
      return result.rejection;
    case "failed":
      return result;
    case "duplicate":
    case "pending":
      return unknownYet[result.state];
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
export function readVerifyState({ isValid, invalidReason = "" }: VerifyResponse): VerifyResult["state"] | undefined {
  if (isValid) return "valid";
  return inconclusive.test(invalidReason) ? undefined : "rejected";
}

/** Interprets a facilitator's response to `/settle` for a seller: charged, not charged, or still unknown. */
export function readSettleState({
  success,
  errorReason = "",
}: Pick<SettleResponse, "success" | "errorReason">): Extract<
  SettleResult["state"],
  "settled" | "rejected" | "pending"
> {
  if (success) return "settled";
  return errorReason === reason.pending || inconclusive.test(errorReason) ? "pending" : "rejected";
}
