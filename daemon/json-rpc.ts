import { z } from "zod";
import { cutText } from "./secrets/cut-text.ts";

/** A method with its positional parameters. */
export type JsonRpcCall = Readonly<{ method: string; params: readonly unknown[] }>;

/** The error object of JSON-RPC 2.0 (section 5.1). */
export type JsonRpcFailure = Readonly<{ code: number; message: string; data?: unknown }>;

/** An endpoint's answer to one call. */
export type JsonRpcAnswer = Readonly<{ ok: true; result: unknown } | { ok: false; error: JsonRpcFailure }>;

/** Id of a call that is sent alone. */
const loneId = 1;

/** Writes one call; `id` comes back with its answer. */
export function writeCall({ method, params }: JsonRpcCall, id = loneId): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** Writes calls as one request, or as a batch when there are several (section 6). Ids are the calls' places, from 0. */
export function writeCalls(calls: readonly JsonRpcCall[]): string {
  const requests = calls.map(writeCall);
  return requests.length === 1 ? (requests[0] ?? "") : `[${requests.join(",")}]`;
}

const failure = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
// Some endpoints send both members, one of them null, as JSON-RPC 1.0 had it.
const response = z.object({ id: z.unknown().optional(), result: z.unknown().optional(), error: failure.nullish() });
const placed = response.extend({ id: z.number() });

/** Text that came for one call: its answer, or what it is instead; `words` name the id that the call had, and the one that was found. */
export type ReadAnswer = Readonly<
  | { kind: "answer"; answer: JsonRpcAnswer }
  | { kind: "not-json" | "not-json-rpc" }
  | { kind: "another-id"; words: string }
>;

/**
 * Reads the answer to a call that `writeCall` wrote without an id. A response with another id answers another request (section 5); an error may
 * have none, where the endpoint could not read the request's.
 */
export function readAnswer(text: string): ReadAnswer {
  const json = parseJson(text);
  if (json === undefined) return { kind: "not-json" };
  const read = response.safeParse(json);
  if (!read.success || (read.data.result === undefined && read.data.error === undefined))
    return { kind: "not-json-rpc" };
  const { id } = read.data;
  const answer = toAnswer(read.data);
  const isOwn = id === loneId || (!answer.ok && (id === undefined || id === null));
  if (isOwn) return { kind: "answer", answer };
  const found = id === undefined ? "none" : cutText(JSON.stringify(id), 60);
  return { kind: "another-id", words: `the answer to another request (expected the id ${loneId}, found ${found})` };
}

/** The answers to a request by the calls' places, or the one error that refuses all of it. */
export type JsonRpcAnswers = Readonly<
  { ok: true; byPlace: ReadonlyMap<number, JsonRpcAnswer> } | { ok: false; error: JsonRpcFailure }
>;

/**
 * Reads the answer to what `writeCalls` wrote; a batch's answers may come in any order, and a call that was left out has none.
 * Undefined for text that is neither answers nor a refusal.
 */
export function readAnswers(text: string): JsonRpcAnswers | undefined {
  const json = parseJson(text);
  const answers = z.array(placed).safeParse(Array.isArray(json) ? json : [json]);
  if (answers.success) return { ok: true, byPlace: new Map(answers.data.map((each) => [each.id, toAnswer(each)])) };
  const refusal = z.object({ error: failure }).safeParse(json);
  return refusal.success ? { ok: false, error: refusal.data.error } : undefined;
}

function toAnswer({ result, error }: Pick<z.infer<typeof response>, "result" | "error">): JsonRpcAnswer {
  return error === undefined || error === null ? { ok: true, result } : { ok: false, error };
}

/** Parses JSON text; undefined, which JSON has no text for, if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
