import type { Agent } from "node:http";
import { BodyTooLargeError, readText } from "../bytes.ts";
import { readAnswer, writeCall, type JsonRpcResponse } from "../json-rpc.ts";
import { createTimeoutSignal } from "../time.ts";
import { parseHttpEndpoint } from "./endpoint.ts";
import { UnresolvedNameError } from "./name-lookup.ts";
import { requestFailureCode, sendRequest, type SendRequest } from "./send-request.ts";

/** An endpoint, and the limits of a call to it. */
export type JsonRpcClientOptions = Readonly<{
  /** May have credentials, which become Basic authentication. */
  url: string;
  timeoutMs: number;
  answerBytesMax: number;
  /** Reuses connections; without an agent each call opens its own. */
  agent?: Agent;
}>;

export type JsonRpcClientDependencies = Readonly<{ send?: SendRequest; timeout?: (ms: number) => AbortSignal }>;

/**
 * Calls a method. An error response from the endpoint is returned, not thrown.
 *
 * @throws {NoJsonRpcAnswerError} when no JSON-RPC response arrives within the limits, or `signal` aborts.
 */
export type CallJsonRpc = (
  method: string,
  params: readonly unknown[],
  signal?: AbortSignal,
) => Promise<JsonRpcResponse>;

/** Reason why there is no JSON-RPC response; `status` is the HTTP status, `text` the body received instead. */
export type NoJsonRpcResponse =
  | Readonly<{ kind: "unreachable" | "timeout" | "too-large" }>
  | Readonly<{ kind: "unresolved"; hostname: string }>
  | Readonly<{ kind: "redirect"; status: number }>
  | Readonly<{ kind: "not-json" | "not-json-rpc"; status: number; text: string }>
  /** The response has another request's id; `words` describe the id. */
  | Readonly<{ kind: "another-id"; status: number; words: string }>;

/** An endpoint returned no JSON-RPC response. The message contains neither URL nor method, which the caller knows. */
export class NoJsonRpcAnswerError extends Error {
  override readonly name = "NoJsonRpcAnswerError";
  readonly code = "no_json_rpc_answer";
  readonly why: NoJsonRpcResponse;

  constructor(why: NoJsonRpcResponse, message: string, options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

/** Creates a client for an HTTP endpoint. The client follows no redirects, and accepts a response with any status: only the body counts. */
export function createJsonRpcClient(
  { url, timeoutMs, answerBytesMax, agent }: JsonRpcClientOptions,
  { send = sendRequest, timeout = createTimeoutSignal }: JsonRpcClientDependencies = {},
): CallJsonRpc {
  const endpoint = parseHttpEndpoint(url);
  const headers = { ...endpoint.headers, "Content-Type": "application/json" };
  return async (method, params, signal) => {
    const deadline = timeout(timeoutMs);
    const over = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    const body = writeCall({ method, params });
    try {
      const answer = await send({
        url: endpoint.url,
        method: "POST",
        headers,
        body,
        signal: over,
        ...(agent === undefined ? {} : { agent }),
      });
      const { statusCode: status = 0 } = answer;
      if (status >= 300 && status < 400) {
        answer.destroy();
        throw new NoJsonRpcAnswerError({ kind: "redirect", status }, `a redirect (HTTP ${status})`);
      }
      return requireAnswer(await readText(answer, answerBytesMax), status);
    } catch (cause) {
      throw toNoAnswerError(cause, over, timeoutMs);
    }
  };
}

function requireAnswer(text: string, status: number): JsonRpcResponse {
  const read = readAnswer(text);
  switch (read.kind) {
    case "answer":
      return read.answer;
    case "not-json":
      throw new NoJsonRpcAnswerError({ kind: read.kind, status, text }, `text that is not JSON (HTTP ${status})`);
    case "not-json-rpc": {
      const found = `JSON that is not a JSON-RPC response (HTTP ${status})`;
      throw new NoJsonRpcAnswerError({ kind: read.kind, status, text }, found);
    }
    case "another-id":
      throw new NoJsonRpcAnswerError({ ...read, status }, read.words);
  }
}

function toNoAnswerError(cause: unknown, over: AbortSignal, timeoutMs: number): NoJsonRpcAnswerError {
  if (cause instanceof NoJsonRpcAnswerError) return cause;
  if (cause instanceof BodyTooLargeError)
    return new NoJsonRpcAnswerError({ kind: "too-large" }, cause.message, { cause });
  if (cause instanceof UnresolvedNameError)
    return new NoJsonRpcAnswerError({ kind: "unresolved", hostname: cause.hostname }, cause.message, { cause });
  if (over.aborted) return new NoJsonRpcAnswerError({ kind: "timeout" }, `nothing within ${timeoutMs} ms`, { cause });
  return new NoJsonRpcAnswerError({ kind: "unreachable" }, requestFailureCode(cause), { cause });
}
