import type { PaymentRequirements } from "@x402/core/types";
import type { FairSlots } from "#daemon/fair-shares.ts";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { readVerifyState } from "#x402/payment-result.ts";
import { reason } from "#x402/reason.ts";
import { FacilitationError, type Facilitation } from "../facilitators/facilitation.ts";
import { malformedReason } from "./claim-settlement.ts";
import type { Payment } from "./payment-header.ts";
import type { SaleOutcome } from "./sale-outcome.ts";

/** A new payment for one of the route's current offers. */
type OfferedPayment = Readonly<{
  payment: Payment;
  requirements: PaymentRequirements;
  client: string;
  trace?: RequestTrace | undefined;
}>;

export type VerdictParts = Readonly<{
  facilitation: Pick<Facilitation, "verify">;
  /** Slots for payments awaiting a verdict: any client can send them, and they must leave capacity for valid ones. */
  unverified: FairSlots;
}>;

/**
 * Validity that is accepted even if the offer's `maxTimeoutSeconds` is shorter, because the published Go client signs each authorization
 * for an hour. A longer one is rejected, because the response would be retained for as long.
 */
const acceptedValiditySeconds = 3_600;
/** Max seconds by which a client's clock may be ahead. */
const clockSkewSeconds = 60;

export function rejectValidity(
  { validBefore }: Payment,
  { maxTimeoutSeconds }: PaymentRequirements,
  nowMs: number,
): SaleOutcome | undefined {
  const validitySeconds = Math.max(maxTimeoutSeconds, acceptedValiditySeconds) + clockSkewSeconds;
  if (validBefore <= nowMs / 1_000 + validitySeconds) return undefined;
  const message = `the payment expires at ${validBefore}, but may be valid for at most ${validitySeconds} s from now, ${Math.floor(nowMs / 1_000)}; sign a new one.`;
  return { kind: "invalid", reason: reason.validBefore, message };
}

/** Requests the facilitator's verdict on a payment; undefined if the payment is valid. */
export async function requestVerdict(
  { payment, requirements, client, trace }: OfferedPayment,
  { facilitation, unverified }: VerdictParts,
): Promise<SaleOutcome | undefined> {
  const entry = unverified.enter(client);
  if (!entry.ok) return { kind: "busy" };
  using _slot = entry.slot;
  try {
    const verdict = await facilitation.verify(payment.read, requirements, trace);
    const state = readVerifyState(verdict);
    if (state === "valid") return undefined;
    const { invalidReason, invalidMessage: message, extra } = verdict;
    if (state === "rejected") {
      const correctedRequirements = extra && { ...requirements, extra: { ...requirements.extra, ...extra } };
      return { kind: "invalid", reason: invalidReason ?? malformedReason, message, corrected: correctedRequirements };
    }
    const cause = new FacilitationError("failed", `the facilitator's verdict is its own fault: ${invalidReason}`);
    return { kind: "no-verdict", cause };
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    return error.code === "rejected"
      ? { kind: "invalid", reason: malformedReason }
      : { kind: "no-verdict", cause: error };
  }
}
