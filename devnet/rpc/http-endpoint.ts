import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readBodyStart } from "#daemon/bytes.ts";
import type { MessageHandler } from "./rpc-message.ts";

/** Max body size, as in geth. */
export const bodyBytesMax = 5 * 1024 * 1024;

const requestTimeoutMs = 30_000;
const headersTimeoutMs = 10_000;
const keepAliveTimeoutMs = 65_000;
const contentTypes = new Set(["application/json", "application/json-rpc", "application/jsonrequest"]);

/**
 * Creates the node's HTTP server: `POST /`, with the status from `statusOf`, and geth's responses to all other requests (an empty GET
 * returns 200, for load balancers).
 */
export function createHttpEndpoint(handler: MessageHandler, statusOf: (answer: string) => number): Server {
  const timeouts = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
  };
  return createServer(timeouts, (request, response) => {
    answer(request, response, handler, statusOf).catch((error: unknown) => response.destroy(error as Error));
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  handler: MessageHandler,
  statusOf: (answer: string) => number,
): Promise<void> {
  const refusal = refuse(request);
  if (refusal !== undefined) return end(response, refusal.status, refusal.text);
  if (request.method === "GET") return end(response, 200, "");
  const text = await readBody(request);
  if (text === undefined) return end(response, 413, `content length too large, at most ${bodyBytesMax} bytes`);
  response.setHeader("Content-Type", "application/json");
  const answered = await handler.handle(text, {});
  response.statusCode = statusOf(answered);
  response.end(answered);
}

function refuse(request: IncomingMessage): Readonly<{ status: number; text: string }> | undefined {
  const path = request.url?.split("?")[0];
  if (path !== "/") return { status: 404, text: "not found; JSON-RPC is served at /" };
  if (request.method === "GET") return undefined;
  if (request.method !== "POST") return { status: 405, text: "method not allowed; send POST" };
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined || !contentTypes.has(type)) {
    return { status: 415, text: "invalid content type; only application/json is supported" };
  }
  return undefined;
}

/** Reads the body's text; returns undefined if it is too large, without reading the rest. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bodyBytesMax) return undefined;
  const { bytes, isTruncated } = await readBodyStart(request.iterator({ destroyOnReturn: false }), bodyBytesMax);
  return isTruncated ? undefined : new TextDecoder().decode(bytes);
}

function end(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  if (status >= 400) response.setHeader("Content-Type", "text/plain; charset=utf-8");
  // The rest of a rejected body would be parsed as the next request.
  if (status >= 400) response.setHeader("Connection", "close");
  response.end(text === "" || status === 200 ? text : `${text}\n`);
}
