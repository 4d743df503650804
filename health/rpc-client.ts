import type { IncomingMessage } from "node:http";
import { BodyTooLargeError, readText } from "#daemon/bytes.ts";
import { requestFailureCode, type SendRequest } from "#daemon/http/request.ts";
import { httpEndpoint } from "#daemon/http/endpoint.ts";
import { runningTimeout } from "#daemon/time.ts";

/** Why a JSON-RPC endpoint gave no usable answer. */
export type RpcFailureReason = "Refused" | "TimedOut" | "NotJsonRpc" | "RpcError" | "TooLarge";

/** An endpoint that gave no usable answer; the message names its URL. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly code: RpcFailureReason;

  /** Whether nothing listens on the port. What else can't be reached may run on: a reset, a network or DNS that fails, no descriptor left here. */
  get isPortClosed(): boolean {
    return this.code === "Refused" && requestFailureCode(this.cause) === "ECONNREFUSED";
  }

  constructor(code: RpcFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** How an endpoint is asked. */
export type RpcClientOptions = Readonly<{ url: string; timeoutMs: number }>;

/** Asks one method without waiting longer than the timeout. */
export type RpcClient = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** More than any method asked here answers. */
const responseLimitBytes = 65_536;

/** Creates a JSON-RPC client of one HTTP endpoint. Its calls throw {@link RpcFailure}. */
export function createRpcClient(options: RpcClientOptions, dependencies: Readonly<{ ask: SendRequest }>): RpcClient {
  const where = new URL(options.url).origin;
  const endpoint = httpEndpoint(options.url);
  return async (method, params, signal) => {
    const deadline = AbortSignal.any([signal, runningTimeout(options.timeoutMs)]);
    let text: string;
    let status: number;
    try {
      const answer = await dependencies.ask({
        url: endpoint.url,
        method: "POST",
        headers: { ...endpoint.headers, "Content-Type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        signal: deadline,
      });
      status = answer.statusCode ?? 0;
      text = await readAnswer(answer, where);
    } catch (cause) {
      if (cause instanceof RpcFailure) throw cause;
      throw unreachable(where, options.timeoutMs, deadline, cause);
    }
    // An error may come with any status: what counts is what the body says.
    return resultOf(text, `${where} answered ${method}`, status);
  };
}

async function readAnswer(answer: IncomingMessage, where: string): Promise<string> {
  const { statusCode = 0 } = answer;
  if (statusCode >= 300 && statusCode < 400) {
    answer.destroy();
    const message = `${where} answered with a redirect (${statusCode}), which is not followed; is it the node's RPC port?`;
    throw new RpcFailure("NotJsonRpc", message);
  }
  try {
    return await readText(answer, responseLimitBytes);
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new RpcFailure("TooLarge", `${where} answered more than ${responseLimitBytes} bytes; is it the node?`);
  }
}

function unreachable(where: string, timeoutMs: number, deadline: AbortSignal, cause: unknown): RpcFailure {
  if (deadline.aborted) {
    return new RpcFailure(
      "TimedOut",
      `${where} did not answer within ${timeoutMs} ms; look at the node's load.`,
      cause,
    );
  }
  return new RpcFailure(
    "Refused",
    `${where} can't be reached (${requestFailureCode(cause)}); is the node running, and is this its address?`,
    cause,
  );
}

function resultOf(text: string, answered: string, status: number): unknown {
  const answer = parse(text);
  if (answer === undefined) {
    throw new RpcFailure("NotJsonRpc", `${answered} with ${notJson(text, status)}`);
  }
  if (typeof answer !== "object" || answer === null || !("result" in answer || "error" in answer)) {
    throw new RpcFailure("NotJsonRpc", `${answered} with JSON that is no JSON-RPC; is it the node's RPC port?`);
  }
  if ("error" in answer && answer.error !== null) {
    const { message } = answer.error as { message?: unknown };
    throw new RpcFailure("RpcError", `${answered} with an error: ${String(message).slice(0, 200)}`);
  }
  return "result" in answer ? answer.result : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what stands there instead.
    return undefined;
  }
}

function notJson(text: string, status: number): string {
  const shown = text === "" ? "an empty body" : JSON.stringify(text.slice(0, 60));
  if (status < 400) return `${shown}, not JSON; is it the node's RPC port?`;
  return `HTTP ${status} and ${shown}, not JSON; is it the node's RPC port, and does node.httpUrl have what it asks for?`;
}

/** Reads a quantity (`0x…`); throws {@link RpcFailure} for anything else. */
export function quantity(value: unknown, method: string, url: string): number {
  if (typeof value === "string" && /^0x[0-9a-fA-F]{1,13}$/.test(value)) return Number(value);
  const shown = JSON.stringify(value)?.slice(0, 60);
  throw new RpcFailure(
    "NotJsonRpc",
    `${new URL(url).origin} answered ${method} with ${shown}; expected a hexadecimal quantity.`,
  );
}
