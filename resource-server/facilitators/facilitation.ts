import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse, Network } from "@x402/core/types";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { z } from "zod";
import type { ReadPayment } from "#x402/scheme.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";

/** A payment for a facilitator: as this process has read it, or as it was sent to an earlier process, which left it in the ledger. */
export type PresentedPayment = Readonly<ReadPayment | { sent: PaymentPayload }>;

/** Verifies and settles payments: a facilitator over HTTP, or one in this process. Both throw {@link FacilitationError} only. */
export type Facilitation = AsyncDisposable &
  Readonly<{
    verify(
      payment: PresentedPayment,
      requirements: PaymentRequirements,
      request?: RequestTrace,
    ): Promise<VerifyResponse>;
    /**
     * May be called again for the same payment: it charges once (EIP-3009). `idempotencyKey` names the sale; a facilitator that tells
     * callers apart gives the outcome to the sale that asked first, and `duplicate_settlement` to any other.
     */
    settle(
      payment: PresentedPayment,
      requirements: PaymentRequirements,
      idempotencyKey: string,
      request?: RequestTrace,
    ): Promise<SettleResponse>;
    /** Whether it can be used now, from state. */
    readiness(): ReadinessCheck;
    /** Whether it is known to settle nothing that is sold now: no client should sign a payment then. */
    settlesNothing(): boolean;
  }>;

/**
 * Fault that kept a facilitator from a verdict:
 * - `unreachable`: it was not reached; it has done nothing;
 * - `unintelligible`: what answered is no facilitator;
 * - `refused`: it answered that the payment itself is malformed (400, 422); it has done nothing;
 * - `denied`: it takes nothing from us now: no key, a wrong path, too many requests (any other 4xx); it has done nothing;
 * - `failed`: it raised an error (5xx);
 * - `unknown`: the answer was cut off or is late. What it did is not known.
 */
export type FacilitationErrorCode = "unreachable" | "unintelligible" | "refused" | "denied" | "failed" | "unknown";

/** No verdict. The message is for the log: it may hold text of the facilitator, which no client gets to see. */
export class FacilitationError extends Error {
  override readonly name = "FacilitationError";
  readonly code: FacilitationErrorCode;

  constructor(code: FacilitationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const extra = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((value) => value ?? undefined);

/** Drops absent fields, which `exactOptionalPropertyTypes` and JSON both tell apart from undefined ones. */
function removeAbsent<T extends object>(value: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** A facilitator's answer to `/verify` (x402 version 2, VerifyResponse). */
export const verifyAnswer = z
  .object({ isValid: z.boolean(), invalidReason: text, invalidMessage: text, payer: text, extensions: extra })
  .transform((answer) => removeAbsent<VerifyResponse>(answer));

/** A facilitator's answer to `/settle` (x402 version 2, SettleResponse). */
export const settleAnswer = z
  .object({
    success: z.boolean(),
    errorReason: text,
    errorMessage: text,
    payer: text,
    transaction: z.string(),
    network: z.string().transform((value) => value as Network),
    amount: text,
    extensions: extra,
  })
  .transform((answer) => removeAbsent<SettleResponse>(answer));

/** The fields of a facilitator's answer to `/supported` that are read. */
export const supportedAnswer = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
  error: text,
});

export type SupportedKinds = Readonly<z.output<typeof supportedAnswer>>;
