import type { PaymentRequirements } from "@x402/core/types";
import type { FairSlots } from "#daemon/fair-shares.ts";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { readVerifyState } from "#x402/answer.ts";
import { FacilitationError, type Facilitation } from "../facilitators/facilitation.ts";
import type { Payment } from "./payment-header.ts";
import type { SaleOutcome } from "./sale-outcome.ts";

/** SDK's reason for a payment that is not well-formed. */
const malformed = "invalid_payload";

/** Payment to verify against the offer that it accepts, and the client that sent it. */
type Presented = Readonly<{
  payment: Payment;
  requirements: PaymentRequirements;
  client: string;
  trace?: RequestTrace | undefined;
}>;

/** Verifier, and slots for payments awaiting a verdict: any client can send such payments, and they must leave capacity for valid ones. */
export type Verifier = Readonly<{ facilitation: Pick<Facilitation, "verify">; unverified: Pick<FairSlots, "enter"> }>;

/** Requests the facilitator's verdict on a payment; returns undefined if it is valid. */
export async function requestVerdict(
  { payment, requirements, client, trace }: Presented,
  { facilitation, unverified }: Verifier,
): Promise<SaleOutcome | undefined> {
  const entry = unverified.enter(client);
  if (!entry.ok) return { kind: "busy" };
  using _slot = entry.slot;
  try {
    const verdict = await facilitation.verify(payment.read, requirements, trace);
    const state = readVerifyState(verdict);
    if (state === "valid") return undefined;
    const { invalidReason, invalidMessage: message, extra } = verdict;
    if (state === "refused") {
      const corrected = extra && { ...requirements, extra: { ...requirements.extra, ...extra } };
      return { kind: "invalid", reason: invalidReason ?? malformed, message, corrected };
    }
    const cause = new FacilitationError("failed", `the facilitator's verdict is its own fault: ${invalidReason}`);
    return { kind: "no-verdict", cause };
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    if (error.code === "refused") return { kind: "invalid", reason: malformed };
    return { kind: "no-verdict", cause: error };
  }
}
