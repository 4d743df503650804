import { z } from "zod";
import { truncateText } from "./secrets/mask.ts";

/** A method with its positional parameters. */
export type JsonRpcCall = Readonly<{ method: string; params: readonly unknown[] }>;

/** The error object of JSON-RPC 2.0 (section 5.1). */
export type JsonRpcFailure = Readonly<{ code: number; message: string; data?: unknown }>;

export type JsonRpcResponse = Readonly<{ ok: true; result: unknown } | { ok: false; error: JsonRpcFailure }>;

/** Id of a single call. */
const loneId = 1;

/** Serializes a call; its response repeats `id`. */
export function writeCall({ method, params }: JsonRpcCall, id = loneId): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** Serializes one call as a request, several as a batch (section 6). Ids are the calls' indexes, from 0. */
export function writeCalls(calls: readonly JsonRpcCall[]): string {
  const requests = calls.map(writeCall);
  return requests.length === 1 ? (requests[0] ?? "") : `[${requests.join(",")}]`;
}

const failure = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
// Some endpoints send both members, one of them null, as in JSON-RPC 1.0.
const response = z.object({ id: z.unknown().optional(), result: z.unknown().optional(), error: failure.nullish() });
const batchSchema = z.array(response.extend({ id: z.number() }));

/**
 * Result of parsing the text received for a call: the response, or why the text isn't one; `words` describes the expected and received ids.
 */
export type ReadResponse = Readonly<
  | { kind: "answer"; answer: JsonRpcResponse }
  | { kind: "not-json" | "not-json-rpc" }
  | { kind: "another-id"; words: string }
>;

/**
 * Parses the response to a call that `writeCall` wrote without an id. A response with a different id belongs to a different request (section 5); an
 * error may lack an id if the endpoint could not read the request's id.
 */
export function readResponse(text: string): ReadResponse {
  const json = parseJson(text);
  if (json === undefined) return { kind: "not-json" };
  const read = response.safeParse(json);
  if (!read.success || (read.data.result === undefined && read.data.error === undefined))
    return { kind: "not-json-rpc" };
  const { id } = read.data;
  const answer = toResponse(read.data);
  const isOwn = id === loneId || (!answer.ok && (id === undefined || id === null));
  if (isOwn) return { kind: "answer", answer };
  const found = id === undefined ? "none" : truncateText(JSON.stringify(id), 60);
  return { kind: "another-id", words: `the response to another request (expected the id ${loneId}, found ${found})` };
}

/** The responses to a request by call index, or the single error that rejects all of it. */
export type JsonRpcResponses = Readonly<
  { ok: true; byIndex: ReadonlyMap<number, JsonRpcResponse> } | { ok: false; error: JsonRpcFailure }
>;

/**
 * Parses the response to a request that `writeCalls` wrote; a batch's responses may arrive in any order, and may be incomplete. Returns
 * undefined if the text is neither responses nor an error for the whole request.
 */
export function readResponses(text: string): JsonRpcResponses | undefined {
  const json = parseJson(text);
  const responses = batchSchema.safeParse(Array.isArray(json) ? json : [json]);
  if (responses.success)
    return { ok: true, byIndex: new Map(responses.data.map((each) => [each.id, toResponse(each)])) };
  const rejection = z.object({ error: failure }).safeParse(json);
  return rejection.success ? { ok: false, error: rejection.data.error } : undefined;
}

function toResponse({ result, error }: Pick<z.infer<typeof response>, "result" | "error">): JsonRpcResponse {
  return error === undefined || error === null ? { ok: true, result } : { ok: false, error };
}

/** Parses JSON text. Returns undefined, which no JSON text can represent, if it isn't JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
