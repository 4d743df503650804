import type { SettleResponse, SupportedResponse, VerifyResponse } from "@x402/core/types";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Hex } from "#x402/hex.ts";
import { identifyCaller, type Caller, type CallerFacts } from "../callers/caller.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";
import type { SettleResult } from "../settlement/settlement.ts";
import { readQuestion, sentIn, type PaymentQuestion } from "./payment-question.ts";
import type { Settled, SettlingScheme, Verdict } from "./settling-scheme.ts";

/** What is settled, and who does. */
export type OperationsOptions = Readonly<{
  network: `eip155:${number}`;
  signer: Hex;
  schemes: readonly SettlingScheme[];
}>;

/** The three operations of an x402 facilitator; see `Facilitator`. */
export type Operations = Readonly<{
  verify: (question: PaymentQuestion, caller: CallerFacts) => Promise<VerifyResponse>;
  settle: (question: PaymentQuestion, caller: CallerFacts) => Promise<SettleResponse>;
  supported: () => SupportedResponse;
}>;

/** Offers schemes in the words of x402 version 2. */
export function createOperations(
  options: OperationsOptions,
  { metrics }: Readonly<{ metrics: Pick<FacilitatorMetrics, "startVerify" | "startSettle"> }>,
): Operations {
  const { network, signer, schemes } = options;
  const verify: Operations["verify"] = async (question, facts) => {
    const read = readQuestion(question, options);
    if ("refusal" in read) return verdictResponse({ refusal: read.refusal, payer: undefined });
    return verdictResponse(await read.by.verify(read.order, callerOf(question, facts)));
  };
  const settle: Operations["settle"] = async (question, facts) => {
    const read = readQuestion(question, options);
    if ("refusal" in read) return unsettled(read.refusal, network, undefined);
    return settledResponse(await read.by.settle(read.order, callerOf(question, facts)), network);
  };
  return {
    verify: (...call) =>
      measured(metrics.startVerify(), verify(...call), ({ invalidReason }) => invalidReason ?? "valid"),
    settle: (...call) =>
      measured(metrics.startSettle(), settle(...call), ({ errorReason }) => errorReason ?? "settled"),
    supported: () => ({
      kinds: schemes.map(({ scheme }) => ({ x402Version: 2, scheme: scheme.name, network })),
      extensions: [],
      signers: { "eip155:*": [signer] },
    }),
  };
}

function callerOf(question: PaymentQuestion, facts: CallerFacts): Caller {
  return identifyCaller(facts, sentIn(question), question.paymentRequirements);
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

function verdictResponse({ refusal, payer }: Verdict): VerifyResponse {
  const known = payer === undefined ? {} : { payer };
  if (refusal === undefined) return { isValid: true, ...known };
  return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, ...known };
}

type Network = OperationsOptions["network"];

function unsettled(
  { reason: errorReason, message }: Refusal,
  network: Network,
  payer: string | undefined,
  transaction = "",
): SettleResponse {
  const known = payer === undefined ? {} : { payer };
  return { success: false, errorReason, errorMessage: message, transaction, network, ...known };
}

function settledResponse({ result, payer }: Settled, network: Network): SettleResponse {
  switch (result.state) {
    case "settled":
      return { success: true, transaction: result.transaction, network, ...(payer === undefined ? {} : { payer }) };
    case "failed":
      return unsettled(result, network, payer, result.transaction);
    case "refused":
      return unsettled(result.refusal, network, payer);
    case "duplicate":
    case "pending":
      return unsettled(unknownYet[result.state], network, payer, result.transaction);
  }
}

/** Why a caller is told no outcome. */
const unknownYet: Readonly<Record<Extract<SettleResult["state"], "duplicate" | "pending">, Refusal>> = {
  duplicate: {
    reason: reason.duplicate,
    message:
      "the payment belongs to the call that settled it first. Deliver nothing for this one. To ask again for a settlement of " +
      "your own, send the same Idempotency-Key each time.",
  },
  pending: {
    reason: reason.pending,
    message: "the transaction is sent and its outcome is not known yet; settle the same payment again to learn it.",
  },
};
