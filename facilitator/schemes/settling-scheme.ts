import type { PaymentRequirements } from "@x402/core/types";
import type { Answered, SettleAnswer, VerifyAnswer } from "#x402/answer.ts";
import type { Refusal } from "#x402/reason.ts";
import type { Scheme } from "#x402/scheme.ts";
import type { Caller } from "../callers/caller.ts";

/** A payment with the requirements that it has to meet, and those that its client says it accepted. */
export type Order<Payment> = Readonly<{
  payment: Payment;
  requirements: PaymentRequirements;
  accepted: PaymentRequirements;
}>;

/**
 * A scheme with what a facilitator does about its payments. A new one is written as a file beside `exact.ts` and named in the list of
 * `facilitator.ts`; nothing else of the facilitator knows schemes apart.
 */
export type SettlingScheme<Payment = unknown> = Readonly<{
  scheme: Scheme<Payment>;
  /** Says why a payload of another kind of the scheme is not settled here, if so, before it is read. */
  refusePayload(payload: Readonly<Record<string, unknown>>): Refusal | undefined;
  /**
   * Whether the payment would settle now. Changes nothing but what the caller is known to have asked.
   *
   * @throws what `Facilitator` says.
   */
  verify(order: Order<Payment>, caller: Caller): Promise<Answered<VerifyAnswer>>;
  /**
   * Settles the payment, at most once.
   *
   * @throws what `Facilitator` says.
   */
  settle(order: Order<Payment>, caller: Caller): Promise<Answered<SettleAnswer>>;
}>;
