import { z } from "zod";
import { ChainError } from "./chain-error.ts";

/** A method with its positional parameters. */
export type JsonRpcCall = Readonly<{ method: string; params: readonly unknown[] }>;

/** The error object of JSON-RPC 2.0. */
export type JsonRpcFailure = Readonly<{ code: number; message: string; data?: unknown }>;

/** What the node says to one call. */
export type JsonRpcAnswer = Readonly<{ ok: true; result: unknown } | { ok: false; error: JsonRpcFailure }>;

/** Writes calls as one request, or as a batch when there are several (JSON-RPC 2.0, section 6). Ids are the calls' places. */
export function writeCalls(calls: readonly JsonRpcCall[]): string {
  const requests = calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
  return JSON.stringify(requests.length === 1 ? requests[0] : requests);
}

const failure = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
const answer = z.object({ id: z.number(), result: z.unknown().optional(), error: failure.optional() });
const refusal = z.object({ error: failure });

/**
 * Reads the answers, by the calls' places; a batch's answers may come in any order. A call that was left out has none.
 *
 * @throws {ChainError} when the text is no JSON-RPC response, or one that refuses all calls together.
 */
export function readAnswers(text: string): ReadonlyMap<number, JsonRpcAnswer> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ChainError("bad_answer", "the node answered something else than JSON", { cause });
  }
  const parsed = z.array(answer).safeParse(Array.isArray(json) ? json : [json]);
  if (parsed.success) {
    return new Map(
      parsed.data.map(({ id, result, error }) => [
        id,
        error === undefined ? { ok: true, result } : { ok: false, error },
      ]),
    );
  }
  const refused = refusal.safeParse(json);
  throw refused.success
    ? new ChainError("refused", `the node refused: ${refused.data.error.message} (code ${refused.data.error.code})`)
    : new ChainError("bad_answer", "the node answered something else than a JSON-RPC response");
}
