import type { SettleResponse, SupportedResponse, VerifyResponse } from "@x402/core/types";
import { settleResponse, verifyResponse } from "#x402/answer.ts";
import type { Refusal } from "#x402/reason.ts";
import type { Hex } from "#x402/hex.ts";
import { identifyCaller, type Caller, type CallerFacts } from "../callers/caller.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";
import { readQuestion, sentIn, type PaymentQuestion, type SettlingScheme } from "./payment-question.ts";
import type { Transfers } from "#x402/scheme.ts";

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

/** What operations work with. */
export type OperationsDependencies = Readonly<{
  /** What schemes settle with, on behalf of a caller. */
  transfersFor: (caller: Caller) => Transfers;
  metrics: Pick<FacilitatorMetrics, "startVerify" | "startSettle">;
}>;

/** Offers schemes in the words of x402 version 2. */
export function createOperations(
  options: OperationsOptions,
  { transfersFor, metrics }: OperationsDependencies,
): Operations {
  const { network, signer, schemes } = options;
  const verify: Operations["verify"] = async (question, facts) => {
    const read = readQuestion(question, options);
    if ("refusal" in read) return verifyResponse(refused(read.refusal));
    return verifyResponse(await read.by.settling.verify(read.order, transfersFor(callerOf(question, facts))));
  };
  const settle: Operations["settle"] = async (question, facts) => {
    const read = readQuestion(question, options);
    if ("refusal" in read) return settleResponse(refused(read.refusal), network);
    return settleResponse(await read.by.settling.settle(read.order, transfersFor(callerOf(question, facts))), network);
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

/** Refused before anybody looked whose payment it is. */
function refused(refusal: Refusal) {
  return { answer: { state: "refused", refusal }, payer: undefined } as const;
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
