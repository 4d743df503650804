import type { SettleResponse, SupportedResponse, VerifyResponse } from "@x402/core/types";
import type { Logger } from "#daemon/log.ts";
import type { FacilitatorMetrics } from "./facilitator-metrics.ts";
import type { Hex } from "./payment/hex.ts";
import { parsePayment } from "./payment/payment.ts";
import { reason, type Refusal } from "./payment/reason.ts";
import { isRefusal, signedPayment, type SignedPayment } from "./payment/signed-payment.ts";
import type { AcceptedTerms } from "./payment/terms.ts";
import { refuseTime } from "./payment/validity.ts";
import type { Engine } from "./settlement/engine.ts";
import type { SettleResult } from "./settlement/settler.ts";

/** What the scheme is offered for. */
export type SchemeOptions = Readonly<{ network: `eip155:${number}`; terms: AcceptedTerms; signer: Hex }>;

/** What the scheme works with. */
export type SchemeDependencies = Readonly<{
  engine: Pick<Engine, "settle" | "progress">;
  /** Whether the chain would take the payment now. */
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  metrics: Pick<FacilitatorMetrics, "startVerify" | "startSettle">;
  clock: () => number;
  log: Logger;
}>;

/** The three operations of an x402 facilitator; see `Facilitator`. */
export type Scheme = Readonly<{
  verify: (paymentPayload: unknown, paymentRequirements: unknown) => Promise<VerifyResponse>;
  settle: (paymentPayload: unknown, paymentRequirements: unknown) => Promise<SettleResponse>;
  supported: () => SupportedResponse;
}>;

type Judged = Readonly<{ payment: SignedPayment } | { refusal: Refusal; payer: string | undefined }>;

/** Offers scheme `exact` with EIP-3009 in the words of x402 version 2. */
export function createScheme({ network, terms, signer }: SchemeOptions, dependencies: SchemeDependencies): Scheme {
  const { engine, check, metrics, clock, log } = dependencies;
  const judge = (paymentPayload: unknown, paymentRequirements: unknown): Judged => {
    const parsed = parsePayment(paymentPayload, paymentRequirements, network);
    if (!parsed.ok) return { refusal: parsed.refusal, payer: undefined };
    const judged = signedPayment(parsed.payment, terms);
    return isRefusal(judged) ? { refusal: judged, payer: parsed.payment.authorization.from } : { payment: judged };
  };
  const verify = async (paymentPayload: unknown, paymentRequirements: unknown): Promise<VerifyResponse> => {
    const judged = judge(paymentPayload, paymentRequirements);
    if ("refusal" in judged) return invalid(judged.refusal, judged.payer);
    const { payment } = judged;
    const progress = await engine.progress(payment);
    // A payment that is being settled is not used up: a client that repeats it after settlement_pending has to get through.
    if (progress === "in_flight") return { isValid: true, payer: payment.payer };
    if (progress?.state === "failed") return invalid(progress, payment.payer);
    const refusal = refuseTime(payment.authorization, clock()) ?? (await check(payment));
    return refusal === undefined ? { isValid: true, payer: payment.payer } : invalid(refusal, payment.payer);
  };
  const settle = async (paymentPayload: unknown, paymentRequirements: unknown): Promise<SettleResponse> => {
    const judged = judge(paymentPayload, paymentRequirements);
    if ("refusal" in judged) return unsettled(judged.refusal, network, judged.payer);
    const { payment } = judged;
    const result = await engine.settle(payment);
    log.info({ settlement: payment.id, payer: payment.payer, ...logged(result) }, "settle answered");
    return response(result, network, payment.payer);
  };
  return {
    verify: (payload, requirements) =>
      measured(metrics.startVerify(), verify(payload, requirements), ({ invalidReason }) => invalidReason ?? "valid"),
    settle: (payload, requirements) =>
      measured(metrics.startSettle(), settle(payload, requirements), ({ errorReason }) => errorReason ?? "settled"),
    supported: () => ({
      kinds: [{ x402Version: 2, scheme: "exact", network }],
      extensions: [],
      signers: { "eip155:*": [signer] },
    }),
  };
}

async function measured<T>(
  end: (outcome: string) => void,
  work: Promise<T>,
  outcome: (result: T) => string,
): Promise<T> {
  try {
    const result = await work;
    end(outcome(result));
    return result;
  } catch (error) {
    end(error instanceof Error && "code" in error ? String(error.code) : "internal_error");
    throw error;
  }
}

function invalid({ reason: invalidReason, message }: Refusal, payer: string | undefined): VerifyResponse {
  return { isValid: false, invalidReason, invalidMessage: message, ...(payer === undefined ? {} : { payer }) };
}

function unsettled(
  { reason: errorReason, message }: Refusal,
  network: SchemeOptions["network"],
  payer: string | undefined,
  transaction = "",
): SettleResponse {
  const known = payer === undefined ? {} : { payer };
  return { success: false, errorReason, errorMessage: message, transaction, network, ...known };
}

function response(result: SettleResult, network: SchemeOptions["network"], payer: string): SettleResponse {
  switch (result.state) {
    case "settled":
      return { success: true, transaction: result.transaction, network, payer };
    case "failed":
      return unsettled(result, network, payer, result.transaction);
    case "refused":
      return unsettled(result.refusal, network, payer);
    case "pending": {
      const message =
        "the transaction is sent and its outcome is not known yet; settle the same payment again to learn it.";
      return unsettled({ reason: reason.pending, message }, network, payer, result.transaction);
    }
  }
}

function logged(result: SettleResult): Readonly<Record<string, string>> {
  if (result.state === "refused") return { state: result.state, reason: result.refusal.reason };
  if (result.state === "failed") return { state: result.state, reason: result.reason, transaction: result.transaction };
  return { state: result.state, transaction: result.transaction };
}
