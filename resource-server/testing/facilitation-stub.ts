import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import type { Facilitation } from "../facilitators/facilitation.ts";

/** A facilitation whose answers a test gives one by one, and which records its requests. */
export type FacilitationStub = Omit<Facilitation, "settlesNothing"> &
  Readonly<{
    asked: string[];
    /** The `Idempotency-Key` of each settlement that was requested. */
    idempotencyKeys: string[];
    /** Answers of the next calls; then the last one repeats. An Error is thrown. */
    verdicts: (VerifyResponse | Error)[];
    settlements: (SettleResponse | Error)[];
  }> & { settlesNothing: () => boolean };

/** The transaction of a settlement that went well. */
export const transaction = `0x${"ab".repeat(32)}`;

/** Answer of a facilitator when all goes well. */
export const settledAnswer: SettleResponse = { success: true, transaction, network: "eip155:1672", payer: "0xpayer" };

/** Answer of a facilitator while a transaction has no receipt. */
export const pendingAnswer: SettleResponse = {
  success: false,
  errorReason: "settlement_pending",
  transaction,
  network: "eip155:1672",
};

/** Creates a stub with which all goes well unless the test says otherwise. */
export function createFacilitationStub(): FacilitationStub {
  const asked: string[] = [];
  const idempotencyKeys: string[] = [];
  const verdicts: (VerifyResponse | Error)[] = [{ isValid: true }];
  const settlements: (SettleResponse | Error)[] = [settledAnswer];
  return {
    asked,
    idempotencyKeys,
    verdicts,
    settlements,
    async verify() {
      asked.push("verify");
      return takeNext(verdicts);
    },
    async settle(_payload, _requirements, idempotencyKey) {
      asked.push("settle");
      idempotencyKeys.push(idempotencyKey);
      return takeNext(settlements);
    },
    readiness: () => ({ ok: true, message: "stub" }),
    settlesNothing: () => false,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function takeNext<T>(answers: (T | Error)[]): T {
  const answer = answers.length > 1 ? answers.shift() : answers[0];
  if (answer === undefined) throw new Error("the test gave no answer");
  if (answer instanceof Error) throw answer;
  return answer;
}
