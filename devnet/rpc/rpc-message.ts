import { parse } from "@humanwhocodes/momoa";
import type { Logger } from "#daemon/log/log.ts";
import { findJson5Node } from "#daemon/files/json5-tree.ts";
import type { CallContext, MethodTable } from "./method.ts";
import { errorCode, RpcError, toWireError, type WireError } from "./rpc-error.ts";

/** Max calls in one batch, as in geth. */
export const batchCallsMax = 1_000;

/** Handles JSON-RPC messages. */
export type MessageHandler = Readonly<{
  /** Returns the response text, empty when the message has only notifications. Never rejects. */
  handle(text: string, context: CallContext): Promise<string>;
}>;

/** Called once per call, with a method of the table or `unknown`. */
export type CallObserver = (method: string, outcome: "ok" | "error") => void;

export type MessageHandlerParts = Readonly<{
  methods: MethodTable;
  observe: CallObserver;
  log: Logger;
  /** Max calls in a batch; {@link batchCallsMax} by default. */
  callsMax?: number | undefined;
}>;

/** Creates the message handler for a transport: envelopes, batches, ids and errors as in geth's `rpc` package. Runs the calls of a batch one at a time. */
export function createMessageHandler(parts: MessageHandlerParts): MessageHandler {
  return { handle: (text, context) => answerMessage(text, context, parts) };
}

async function answerMessage(text: string, context: CallContext, parts: MessageHandlerParts): Promise<string> {
  const message = parseMessage(text);
  if (message === undefined) return formatError(noId, { code: errorCode.parse, message: "parse error" });
  const { requests, ids, batch } = message;
  if (!batch) return answerOne(requests[0], ids[0], context, parts);
  if (requests.length === 0) return formatError(noId, { code: errorCode.invalidRequest, message: "empty batch" });
  if (requests.length > (parts.callsMax ?? batchCallsMax)) {
    const id = ids.find((candidate) => candidate !== undefined) ?? noId;
    return `[${formatError(id, { code: errorCode.invalidRequest, message: "batch too large" })}]`;
  }
  const answers: string[] = [];
  for (const [index, request] of requests.entries()) {
    const answer = await answerOne(request, ids[index], context, parts);
    if (answer !== "") answers.push(answer);
  }
  return answers.length === 0 ? "" : `[${answers.join(",")}]`;
}

type Message = Readonly<{ requests: readonly unknown[]; ids: readonly (RequestId | undefined)[]; batch: boolean }>;

/** Parses a message; returns undefined if it is not JSON or is too deeply nested. */
function parseMessage(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    const batch = Array.isArray(message);
    const requests: readonly unknown[] = batch ? message : [message];
    return { requests, ids: readIds(text, requests), batch };
  } catch {
    return undefined;
  }
}

async function answerOne(
  request: unknown,
  id: RequestId | undefined,
  context: CallContext,
  parts: MessageHandlerParts,
): Promise<string> {
  if (!isRequest(request) || (id === undefined && request.id !== undefined)) {
    return formatError(id ?? noId, { code: errorCode.invalidRequest, message: "invalid request" });
  }
  const answer = await call(request, context, parts);
  if (id === undefined) return "";
  return "error" in answer
    ? formatError(id, answer.error)
    : `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(answer.result ?? null)}}`;
}

type Request = Readonly<{ id?: unknown; method: string; params?: unknown }>;

function isRequest(value: unknown): value is Request {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, method } = value as { jsonrpc?: unknown; method?: unknown };
  return jsonrpc === "2.0" && typeof method === "string";
}

type Answer = Readonly<{ result: unknown } | { error: WireError }>;

async function call({ method, params }: Request, context: CallContext, parts: MessageHandlerParts): Promise<Answer> {
  const run = parts.methods.get(method);
  try {
    if (run === undefined) throw methodNotFound(method);
    const result = await run(requirePositional(params), context);
    parts.observe(method, "ok");
    return { result };
  } catch (error) {
    parts.observe(run === undefined ? "unknown" : method, "error");
    const known = toWireError(error);
    if (known !== undefined) return { error: known };
    parts.log.error({ event: "devnet-call-failed", err: error, method }, "a call failed because of an internal error");
    return { error: { code: errorCode.internal, message: "internal error" } };
  }
}

function requirePositional(params: unknown): readonly unknown[] {
  if (params === undefined || params === null) return [];
  if (Array.isArray(params)) return params;
  throw new RpcError(errorCode.invalidParams, "non-array args");
}

function methodNotFound(method: string): RpcError {
  return new RpcError(errorCode.methodNotFound, `the method ${method} does not exist/is not available`);
}

function formatError(id: RequestId, error: WireError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}

/** A request's id as JSON text, copied verbatim into the response. */
type RequestId = string;

/** Id of a response to a request whose id can't be determined (JSON-RPC 2.0, section 5). */
const noId: RequestId = "null";

/**
 * Reads the ids of a message: for each request, in order, its id as JSON text; undefined where it is absent or not a string, number or null
 * (JSON-RPC 2.0, section 4). Preserves all digits of numbers beyond JavaScript's range.
 *
 * @param text the whole message.
 * @param requests the request objects as parsed by `JSON.parse`.
 */
export function readIds(text: string, requests: readonly unknown[]): readonly (RequestId | undefined)[] {
  const plain = requests.map(formatId);
  if (!requests.some(hasRoundedId)) return plain;
  const { body } = parse(text, { mode: "json" });
  return plain.map((id, index) => {
    if (!hasRoundedId(requests[index])) return id;
    // With duplicate ids, the last one wins, as in JSON.parse.
    const node = findJson5Node(body, body.type === "Array" ? [`${index}`, "id"] : ["id"]);
    return node === undefined ? id : text.slice(node.loc.start.offset, node.loc.end.offset);
  });
}

function formatId(request: unknown): RequestId | undefined {
  const id = readId(request);
  return typeof id === "string" || typeof id === "number" || id === null ? JSON.stringify(id) : undefined;
}

function hasRoundedId(request: unknown): boolean {
  const id = readId(request);
  return typeof id === "number" && !Number.isSafeInteger(id);
}

function readId(request: unknown): unknown {
  return typeof request === "object" && request !== null ? (request as { id?: unknown }).id : undefined;
}
