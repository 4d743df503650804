import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse, Network } from "@x402/core/types";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { z } from "zod";
import { truncationMark, truncateText } from "#daemon/secrets/mask.ts";
import { reason, type Reason } from "#x402/reason.ts";
import type { ReadPayment } from "#x402/scheme.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";

/** A payment as parsed by this process, or as an earlier process stored it in the ledger. */
export type PresentedPayment = Readonly<ReadPayment | { sent: PaymentPayload }>;

/** Verifies and settles payments, with a facilitator over HTTP or in this process. Both methods throw only {@link FacilitationError}. */
export type Facilitation = AsyncDisposable &
  Readonly<{
    verify(payment: PresentedPayment, offer: PaymentRequirements, request?: RequestTrace): Promise<VerifyResponse>;
    /**
     * May be called again for the same payment, which is charged only once (EIP-3009). `idempotencyKey` identifies the sale; a facilitator
     * that distinguishes callers returns the outcome to the first sale, and `duplicate_settlement` to all others.
     */
    settle(
      payment: PresentedPayment,
      requirements: PaymentRequirements,
      idempotencyKey: string,
      request?: RequestTrace,
    ): Promise<SettleResponse>;
    /** Whether it settles a payment by a durable write to the caller's ledger, which makes earlier writes durable too. Default: never. */
    settlesInLedger?: (payload: PaymentPayload) => boolean;
    /** Returns whether it is usable now, from cached state. */
    readiness(): ReadinessCheck;
    /** Result of comparing this process's clock with the facilitator's; undefined before the first comparison. Default: never compared. */
    clock?: () => ReadinessCheck | undefined;
    /** Returns the kinds of payment and the extensions that it last listed; the same objects until they change. */
    supported(): Pick<SupportedKinds, "kinds" | "extensions">;
    /** Returns whether it settles none of the current offers, or became unusable, so that no client should sign a payment. */
    isSettlingPaused(): boolean;
  }>;

/**
 * Reason why a facilitator returned no verdict:
 * - `unreachable`: it was not reached and has done nothing;
 * - `unintelligible`: the responder is not a facilitator;
 * - `rejected`: it reported the payment itself as malformed (400, 422) and has done nothing;
 * - `denied`: it currently accepts nothing from us: no key, a wrong path, too many requests (any other 4xx); it has done nothing;
 * - `failed`: it reported an error (5xx);
 * - `unknown`: the response was cut off or is late; the effects are unknown.
 */
export type FacilitationErrorCode = "unreachable" | "unintelligible" | "rejected" | "denied" | "failed" | "unknown";

/**
 * The verdict is missing. The message is only for the log: it may contain the facilitator's message about itself, which clients never see.
 */
export class FacilitationError extends Error {
  override readonly name = "FacilitationError";
  readonly code: FacilitationErrorCode;

  constructor(code: FacilitationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Cleans a facilitator's message for client and log: one line, without anything sensitive that it may quote (a signature, or its node's URL). */
function cleanMessage(value: string | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return truncateText(value, 1_000)
    .replaceAll(/0x[0-9a-f]{64,}|[a-z]+:\/\/\S+/gi, truncationMark)
    .replaceAll(/\s+/g, " ")
    .slice(0, 300);
}

/** Drops null and undefined fields, because `exactOptionalPropertyTypes` and JSON both distinguish absent from undefined. */
function removeAbsent<T extends object>(value: { [Key in keyof T]: T[Key] | null | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined && field !== null)) as T;
}

/**
 * Message with which a facilitator reports that the chain rejected a call before anything was sent: its RPC library's message for a revert
 * (viem, go-ethereum or alloy; the latter may contain only the code: geth 3, Nethermind -32015).
 */
const callReverted = /^The contract function "\w+" reverted|\bexecution reverted\b|\berror code (?:3|-32015)\b/i;

/** Message with which x402-rs reports that a transaction's receipt shows a revert. */
const transactionReverted = /^Transaction 0x[0-9a-f]{64} reverted/i;

function nameRevert(text: string): Reason | undefined {
  if (transactionReverted.test(text)) return reason.transaction;
  return callReverted.test(text) ? reason.simulation : undefined;
}

/**
 * Cleans a reason and its message. The reference appends its RPC library's message to some reasons; this message contains its node's URL.
 */
function readReason(said: string | null | undefined, message: string | null | undefined) {
  const [, code = said, text] = /^(\w+): (.*)$/s.exec(said ?? "") ?? [];
  const why = message ?? text;
  return { reason: cleanMessage(code), message: cleanMessage(why), revert: nameRevert(why ?? "") };
}

/** Conclusive reasons; a failed simulation or transaction may be the facilitator's own fault. */
const definite: ReadonlySet<string> = new Set(Object.values(reason)).difference(
  new Set<string>([
    reason.simulation,
    reason.permit2Simulation,
    reason.transaction,
    reason.transferEvent,
    reason.pending,
    reason.duplicate,
  ]),
);

/** Error instead of a verdict, as returned by the published Go facilitator: `{error: "<reason>: <message>"}`. */
const errorSchema = z.object({ error: z.string() }).transform(({ error }, context) => {
  const { reason: foundReason = "", message, revert } = readReason(error, undefined);
  // Without such a message, the facilitator knows from the receipt that a transaction failed.
  if (definite.has(foundReason) || /^\w+_transaction_failed$/.test(error)) return { reason: foundReason, message };
  if (revert !== undefined) return { reason: revert, message };
  const isUnsigned = /_failed_to_verify_signature: (?:recovery failed|invalid EOA)/.test(error);
  if (isUnsigned) return { reason: reason.signature, message };
  context.addIssue("the error is not an x402 reason");
  return z.NEVER;
});

const text = z.string().nullish();
const extra = z.record(z.string(), z.unknown()).nullish();
const extras = { payer: text, extensions: extra, extra };

/** Facilitator's response to `/verify` (x402 version 2, VerifyResponse); `invalidReasonDetails` is x402-rs's name for the message. */
export const verifyResponse = z.union([
  z
    .object({ ...extras, isValid: z.boolean(), invalidReason: text, invalidMessage: text, invalidReasonDetails: text })
    .transform(({ invalidReasonDetails, invalidMessage: said, ...response }) => {
      const { reason: code, message, revert } = readReason(response.invalidReason, said ?? invalidReasonDetails);
      const invalidReason = code === "unexpected_error" ? (revert ?? code) : code;
      const channelExtra = response.isValid ? response.extra : undefined;
      return removeAbsent<VerifyResponse>({ ...response, invalidReason, invalidMessage: message, extra: channelExtra });
    }),
  errorSchema.transform(({ reason: invalidReason, message: invalidMessage }) =>
    removeAbsent<VerifyResponse>({ isValid: false, invalidReason, invalidMessage }),
  ),
]);

/** Facilitator's response to `/settle` (x402 version 2, SettleResponse); a failure may omit transaction and network. */
export const settleResponse = z.union([
  z
    .object({
      ...extras,
      success: z.boolean(),
      errorReason: text,
      errorMessage: text,
      transaction: text,
      network: text,
      amount: text,
    })
    .refine(({ success, ...at }) => !success || (typeof at.transaction === "string" && typeof at.network === "string"))
    .transform(({ transaction: hash, network, errorMessage: message, ...response }) => {
      const { reason: code, message: errorMessage, revert } = readReason(response.errorReason, message);
      const transaction = hash ?? "";
      // Without a hash, a failed transaction may have been sent: the node responded with an error or not at all.
      const isUnsure = transaction === "" && (code === "unexpected_error" || code?.endsWith("transaction_failed"));
      const errorReason = isUnsure === true ? (revert ?? "unexpected_settle_error") : code;
      return removeAbsent<SettleResponse>({
        ...response,
        errorReason,
        errorMessage,
        transaction,
        network: (network ?? "") as Network,
      });
    }),
  errorSchema.transform(({ reason: errorReason, message: errorMessage }) => {
    const nowhere = { transaction: "", network: "" as Network };
    return removeAbsent<SettleResponse>({ success: false, errorReason, errorMessage, ...nowhere });
  }),
]);

const settledAsset = z.object({ network: z.string().optional(), address: z.string(), decimals: z.number().optional() });

export type SettledAsset = Readonly<z.output<typeof settledAsset>>;

export const supportedResponse = z.object({
  kinds: z.array(
    z.object({
      x402Version: z.number(),
      scheme: z.string(),
      network: z.string(),
      extra: extra
        .transform((value) => value ?? undefined)
        .optional()
        .catch(undefined),
    }),
  ),
  extensions: z.array(z.string()).catch([]).default([]),
  error: text.transform((value) => value ?? undefined),
  assets: z.array(settledAsset).optional().catch(undefined),
});

export type SupportedKinds = Readonly<z.output<typeof supportedResponse>>;
