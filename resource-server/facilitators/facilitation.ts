import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse, Network } from "@x402/core/types";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { z } from "zod";
import { cutMark, cutText } from "#daemon/secrets/cut-text.ts";
import { reason } from "#x402/reason.ts";
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

/** No verdict. The message is for the log: it may hold text of the facilitator about itself, which no client gets to see. */
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
/** A facilitator's message, which client and log get: on one line, without what it may quote: a signature, or the URL of its node. */
const message = text.transform((value) =>
  value === undefined
    ? undefined
    : cutText(value, 1_000)
        .replaceAll(/0x[0-9a-f]{64,}|[a-z]+:\/\/\S+/gi, cutMark)
        .replaceAll(/\s+/g, " ")
        .slice(0, 300),
);
const extra = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((value) => value ?? undefined);

/** Drops absent fields, which `exactOptionalPropertyTypes` and JSON both tell apart from undefined ones. */
function removeAbsent<T extends object>(value: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/**
 * How x402-rs words it that the chain itself rejected the transfer, which it reports as `unexpected_error` like a node that is away: its RPC library's
 * text for an error response (alloy), with the code of a revert (geth 3, Nethermind -32015) or the words.
 */
const reverted = /^server returned an error response: error code (3|-32015|-?\d+: execution reverted)\b/i;

/** Definite reasons; what a simulation or a transaction ran into may be the facilitator's own fault. */
const definite = new Set<string | undefined>(Object.values(reason));
for (const unclear of ["simulation", "transaction", "transferEvent", "pending", "duplicate"] as const)
  definite.delete(reason[unclear]);

/** An error in place of a verdict, as the published Go facilitator has it: `{error: "<reason>: <message>"}`. */
const worded = z.object({ error: z.string() }).transform(({ error }, context) => {
  const [, found = "", rest] = /^(\w+)(?:: (.*))?$/s.exec(error) ?? [];
  if (definite.has(found)) return { reason: found, message: message.parse(rest) };
  context.addIssue("the error is not a reason of x402");
  return z.NEVER;
});

/** A facilitator's answer to `/verify` (x402 version 2, VerifyResponse); `invalidReasonDetails` is x402-rs's name for the message. */
export const verifyAnswer = z.union([
  z
    .object({
      isValid: z.boolean(),
      invalidReason: text,
      invalidMessage: message,
      invalidReasonDetails: message,
      payer: text,
      extensions: extra,
    })
    .transform(({ invalidReasonDetails, ...answer }) => {
      const { invalidReason, invalidMessage = invalidReasonDetails } = answer;
      const isReverted = invalidReason === "unexpected_error" && reverted.test(invalidMessage ?? "");
      const known = isReverted ? reason.simulation : invalidReason;
      return removeAbsent<VerifyResponse>({ ...answer, invalidReason: known, invalidMessage });
    }),
  worded.transform(({ reason: invalidReason, message: invalidMessage }) =>
    removeAbsent<VerifyResponse>({ isValid: false, invalidReason, invalidMessage }),
  ),
]);

/** A facilitator's answer to `/settle` (x402 version 2, SettleResponse); a failure need not name transaction and network. */
export const settleAnswer = z.union([
  z
    .object({
      success: z.boolean(),
      errorReason: text,
      errorMessage: message,
      payer: text,
      transaction: text,
      network: text,
      amount: text,
      extensions: extra,
    })
    .refine(({ success, transaction, network }) => !success || (transaction !== undefined && network !== undefined))
    .transform(({ transaction = "", network = "", ...answer }) =>
      removeAbsent<SettleResponse>({ ...answer, transaction, network: network as Network }),
    ),
  worded.transform(({ reason: errorReason, message: errorMessage }) =>
    removeAbsent<SettleResponse>({
      success: false,
      errorReason,
      errorMessage,
      transaction: "",
      network: "" as Network,
    }),
  ),
]);

const settledAsset = z.object({ address: z.string(), decimals: z.number().optional() });

/** A token that a Gatehouse facilitator settles; others say nothing of theirs. */
export type SettledAsset = Readonly<z.output<typeof settledAsset>>;

/** The fields of a facilitator's answer to `/supported` that are read. */
export const supportedAnswer = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
  error: text,
  assets: z.array(settledAsset).optional().catch(undefined),
});

export type SupportedKinds = Readonly<z.output<typeof supportedAnswer>>;
