import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import type { Facilitation } from "../facilitators/facilitation.ts";

/** Facilitation with responses scripted by a test, which records its requests. */
export type FacilitationStub = Omit<Facilitation, "isSettlingPaused"> &
  Readonly<{
    asked: string[];
    /** `Idempotency-Key` of each requested settlement. */
    idempotencyKeys: string[];
    /** Responses to the next calls; the last one repeats. An Error is thrown. */
    verdicts: (VerifyResponse | Promise<VerifyResponse> | Error)[];
    settlements: (SettleResponse | Error)[];
  }> & { isSettlingPaused: () => boolean };

/** Transaction of a successful settlement. */
export const transaction = `0x${"ab".repeat(32)}`;

/** Facilitator's response on success. */
export const settledResponse: SettleResponse = { success: true, transaction, network: "eip155:1672", payer: "0xpayer" };

/** Facilitator's response while a transaction has no receipt. */
export const pendingResponse: SettleResponse = {
  success: false,
  errorReason: "settlement_pending",
  transaction,
  network: "eip155:1672",
};

/** Creates a stub that succeeds unless the test changes it. */
export function createFacilitationStub(): FacilitationStub {
  const requests: string[] = [];
  const idempotencyKeys: string[] = [];
  const verdicts: FacilitationStub["verdicts"] = [{ isValid: true }];
  const settlements: (SettleResponse | Error)[] = [settledResponse];
  return {
    asked: requests,
    idempotencyKeys,
    verdicts,
    settlements,
    async verify() {
      requests.push("verify");
      return takeNext(verdicts);
    },
    async settle(_payload, _requirements, idempotencyKey) {
      requests.push("settle");
      idempotencyKeys.push(idempotencyKey);
      return takeNext(settlements);
    },
    readiness: () => ({ ok: true, message: "stub" }),
    isSettlingPaused: () => false,
    supported: () => ({ kinds: [], extensions: [] }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function takeNext<T>(queue: (T | Error)[]): T {
  const answer = queue.length > 1 ? queue.shift() : queue[0];
  if (answer === undefined) throw new Error("the test defined no response");
  if (answer instanceof Error) throw answer;
  return answer;
}
