import { parseJson } from "#daemon/json-rpc.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Method } from "./extension-methods.ts";
import { errorCode, RpcError, toWireError, type WireError } from "./rpc-error.ts";

/** Max calls in one batch, as in geth. */
export const batchCallsMax = 1_000;

export type FindMethod = (name: string) => Method | undefined;

/** Answers a message with the methods of its transport; the text is empty for notifications only. Never rejects. */
export type MessageHandler = (text: string, find: FindMethod) => Promise<string>;

/** Creates the message handler: envelopes, batches and errors as in geth's `rpc` package. Runs the calls of a batch one at a time. */
export function createMessageHandler(
  { callsMax = batchCallsMax }: Readonly<{ callsMax?: number | undefined }>,
  { log }: Readonly<{ log: Logger }>,
): MessageHandler {
  return async (text, find) => {
    const message = parseJson(text);
    if (message === undefined) return formatError(null, errorCode.parse, "parse error");
    if (!Array.isArray(message)) return answerCall(message, find, log);
    if (message.length === 0) return formatError(null, errorCode.invalidRequest, "empty batch");
    if (message.length > callsMax) return `[${formatError(null, errorCode.invalidRequest, "batch too large")}]`;
    const answers: string[] = [];
    for (const call of message as readonly unknown[]) answers.push(await answerCall(call, find, log));
    const given = answers.filter((answer) => answer !== "");
    return given.length === 0 ? "" : `[${given.join(",")}]`;
  };
}

type Request = Readonly<{ id?: unknown; method: string; params?: unknown }>;

function isRequest(value: unknown): value is Request {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, method, id } = value as { jsonrpc?: unknown; method?: unknown; id?: unknown };
  return jsonrpc === "2.0" && typeof method === "string" && (typeof id !== "object" || id === null);
}

async function answerCall(request: unknown, find: FindMethod, log: Logger): Promise<string> {
  if (!isRequest(request)) return formatError(null, errorCode.invalidRequest, "invalid request");
  const { id, method, params } = request;
  try {
    const run = find(method);
    if (run === undefined) {
      throw new RpcError(errorCode.methodNotFound, `the method ${method} does not exist/is not available`);
    }
    if (!Array.isArray(params ?? [])) throw new RpcError(errorCode.invalidParams, "non-array args");
    const result = await run((params ?? []) as readonly unknown[]);
    return id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, result: result ?? null });
  } catch (error) {
    const known = toWireError(error);
    if (known === undefined) {
      log.error({ event: "devnet-call-failed", err: error, method }, "a call failed because of an internal error");
    }
    const { code, message, data } = known ?? { code: errorCode.internal, message: "internal error" };
    return id === undefined ? "" : formatError(id, code, message, data);
  }
}

function formatError(id: unknown, code: number, message: string, data?: WireError["data"]): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}
