import type { SettleResponse, SupportedResponse, VerifyResponse } from "@x402/core/types";
import { boundedLog, boundOfSales } from "#daemon/bounded-log.ts";
import type { Logger } from "#daemon/log.ts";
import { identifyCaller, type Caller, type CallerFacts } from "../callers/caller.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";
import type { Hex } from "#x402/hex.ts";
import { parsePayment } from "#x402/payment.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import { isRefusal, signedPayment, type SignedPayment } from "../payment/signed-payment.ts";
import { refusePayee, type AcceptedTerms } from "../payment/terms.ts";
import { refuseTime } from "../payment/validity.ts";
import type { Engine } from "../settlement/engine.ts";
import type { Progress, SettleResult } from "../settlement/settlement.ts";

/** What the scheme is offered for. */
export type SchemeOptions = Readonly<{ network: `eip155:${number}`; terms: AcceptedTerms; signer: Hex }>;

/** What the scheme works with. */
export type SchemeDependencies = Readonly<{
  engine: Pick<Engine, "settle" | "progress" | "noteVerified">;
  /** Whether the chain would take the payment now. */
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  metrics: Pick<FacilitatorMetrics, "startVerify" | "startSettle">;
  clock: () => number;
  log: Logger;
}>;

/** The three operations of an x402 facilitator; see `Facilitator`. */
export type Scheme = Readonly<{
  verify: (paymentPayload: unknown, paymentRequirements: unknown, caller: CallerFacts) => Promise<VerifyResponse>;
  settle: (paymentPayload: unknown, paymentRequirements: unknown, caller: CallerFacts) => Promise<SettleResponse>;
  supported: () => SupportedResponse;
}>;

type Judged = Readonly<{ payment: SignedPayment } | { refusal: Refusal; payer: string | undefined }>;

/** Offers scheme `exact` with EIP-3009 in the words of x402 version 2. */
export function createScheme({ network, terms, signer }: SchemeOptions, dependencies: SchemeDependencies): Scheme {
  const { engine, check, metrics, clock, log } = dependencies;
  // Anybody can have the same payment refused, or its settlement told again, any number of times.
  const refusals = boundedLog(log);
  const settlements = boundedLog(log, boundOfSales);
  const judge = (paymentPayload: unknown, paymentRequirements: unknown): Judged => {
    const parsed = parsePayment(paymentPayload, paymentRequirements, network);
    if (!parsed.ok) return { refusal: parsed.refusal, payer: undefined };
    const judged = signedPayment(parsed.payment, terms);
    return isRefusal(judged) ? { refusal: judged, payer: parsed.payment.authorization.from } : { payment: judged };
  };
  const verify: Scheme["verify"] = async (paymentPayload, paymentRequirements, facts) => {
    const judged = judge(paymentPayload, paymentRequirements);
    if ("refusal" in judged) return invalid(judged.refusal, judged.payer);
    const { payment } = judged;
    const caller = identifyCaller(facts, paymentPayload, paymentRequirements);
    // Before the question how far it is: so of two copies at one time, whichever is settled first finds the other noted.
    if (caller.kind === "seller") await engine.noteVerified(payment.id, caller.owner);
    const progress = await engine.progress(payment);
    if (progress !== undefined) {
      const refused = refuseProgress(progress, caller);
      return refused === undefined ? { isValid: true, payer: payment.payer } : invalid(refused, payment.payer);
    }
    const refusal =
      refusePayee(payment.payTo, terms) ?? refuseTime(payment.authorization, clock()) ?? (await check(payment));
    return refusal === undefined ? { isValid: true, payer: payment.payer } : invalid(refusal, payment.payer);
  };
  const settle: Scheme["settle"] = async (paymentPayload, paymentRequirements, facts) => {
    const judged = judge(paymentPayload, paymentRequirements);
    if ("refusal" in judged) return unsettled(judged.refusal, network, judged.payer);
    const { payment } = judged;
    const unserved = refusePayee(payment.payTo, terms);
    if (unserved !== undefined && (await engine.progress(payment)) === undefined) {
      return unsettled(unserved, network, payment.payer);
    }
    const result = await engine.settle(payment, identifyCaller(facts, paymentPayload, paymentRequirements));
    const lines = result.state === "refused" ? refusals : settlements;
    lines.info({ settlement: payment.id, payer: payment.payer, ...logged(result) }, "settle answered");
    return response(result, network, payment.payer);
  };
  return {
    verify: (...call) =>
      measured(metrics.startVerify(), verify(...call), ({ invalidReason }) => invalidReason ?? "valid"),
    settle: (...call) =>
      measured(metrics.startSettle(), settle(...call), ({ errorReason }) => errorReason ?? "settled"),
    supported: () => ({
      kinds: [{ x402Version: 2, scheme: "exact", network }],
      extensions: [],
      signers: { "eip155:*": [signer] },
    }),
  };
}

/**
 * Why a payment whose settlement is on record is not good for another sale, if so. It still is for the sale that owns it, and for
 * anyone where nobody does: a client that comes back after `settlement_pending` has to get through.
 */
function refuseProgress(progress: Progress, caller: Caller): Refusal | undefined {
  if (progress.state === "failed") return progress;
  if (progress.owner === undefined || (caller.kind === "sale" && caller.owner === progress.owner)) return undefined;
  return progress.state === "settled" ? settledBefore : beingSettled;
}

const beingSettled: Refusal = {
  reason: reason.duplicate,
  message: "the payment is being settled for another call; ask the client for another payment.",
};

const settledBefore: Refusal = {
  reason: reason.nonceUsed,
  message: "the payment was settled before; ask the client for another payment.",
};

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
    case "duplicate": {
      const message =
        "the payment belongs to the call that settled it first. Deliver nothing for this one. To ask again for a settlement of " +
        "your own, send the same Idempotency-Key each time.";
      return unsettled({ reason: reason.duplicate, message }, network, payer, result.transaction);
    }
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
