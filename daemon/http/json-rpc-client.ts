import type { Agent } from "node:http";
import { BodyTooLargeError, readText } from "../bytes.ts";
import { readResponse, writeCall, type JsonRpcResponse } from "../json-rpc.ts";
import { createTimeoutSignal } from "../time.ts";
import { parseHttpEndpoint } from "./endpoint.ts";
import { UnresolvedNameError } from "./name-lookup.ts";
import { requestFailureCode, sendRequest, type SendRequest } from "./send-request.ts";

/** An endpoint, and the limits of a call to it. */
export type JsonRpcClientOptions = Readonly<{
  /** May have credentials, which become Basic authentication. */
  url: string;
  timeoutMs: number;
  responseBytesMax: number;
  /** Reuses connections; without an agent each call opens its own. */
  agent?: Agent;
}>;

export type JsonRpcClientDependencies = Readonly<{ send?: SendRequest; timeout?: (ms: number) => AbortSignal }>;

/**
 * Calls a method. An error response from the endpoint is returned, not thrown.
 *
 * @throws {NoJsonRpcResponseError} when no JSON-RPC response arrives within the limits, or `signal` aborts.
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
export class NoJsonRpcResponseError extends Error {
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
  { url, timeoutMs, responseBytesMax, agent }: JsonRpcClientOptions,
  { send = sendRequest, timeout = createTimeoutSignal }: JsonRpcClientDependencies = {},
): CallJsonRpc {
  const endpoint = parseHttpEndpoint(url);
  const headers = { ...endpoint.headers, "Content-Type": "application/json" };
  return async (method, params, signal) => {
    const deadline = timeout(timeoutMs);
    const over = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    const body = writeCall({ method, params });
    try {
      const response = await send({
        url: endpoint.url,
        method: "POST",
        headers,
        body,
        signal: over,
        ...(agent === undefined ? {} : { agent }),
      });
      const { statusCode: status = 0 } = response;
      if (status >= 300 && status < 400) {
        response.destroy();
        throw new NoJsonRpcResponseError({ kind: "redirect", status }, `a redirect (HTTP ${status})`);
      }
      return requireResponse(await readText(response, responseBytesMax), status);
    } catch (cause) {
      throw toNoResponseError(cause, over, timeoutMs);
    }
  };
}

function requireResponse(text: string, status: number): JsonRpcResponse {
  const read = readResponse(text);
  switch (read.kind) {
    case "answer":
      return read.answer;
    case "not-json":
      throw new NoJsonRpcResponseError({ kind: read.kind, status, text }, `text that is not JSON (HTTP ${status})`);
    case "not-json-rpc": {
      const found = `JSON that is not a JSON-RPC response (HTTP ${status})`;
      throw new NoJsonRpcResponseError({ kind: read.kind, status, text }, found);
    }
    case "another-id":
      throw new NoJsonRpcResponseError({ ...read, status }, read.words);
  }
}

function toNoResponseError(cause: unknown, over: AbortSignal, timeoutMs: number): NoJsonRpcResponseError {
  if (cause instanceof NoJsonRpcResponseError) return cause;
  if (cause instanceof BodyTooLargeError)
    return new NoJsonRpcResponseError({ kind: "too-large" }, cause.message, { cause });
  if (cause instanceof UnresolvedNameError)
    return new NoJsonRpcResponseError({ kind: "unresolved", hostname: cause.hostname }, cause.message, { cause });
  if (over.aborted) return new NoJsonRpcResponseError({ kind: "timeout" }, `nothing within ${timeoutMs} ms`, { cause });
  return new NoJsonRpcResponseError({ kind: "unreachable" }, requestFailureCode(cause), { cause });
}
