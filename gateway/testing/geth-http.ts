import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";

/** Limits on a node's HTTP interface. The defaults are geth's (from its `rpc` package and `node` defaults). */
export type HttpLimits = Readonly<{
  bodyBytes: number;
  batchItems: number;
  /** Max total bytes of the results of one batch. */
  batchResponseBytes: number;
}>;

/** geth's own limits: `defaultBodyLimit`, `BatchRequestLimit`, `BatchResponseMaxSize`. */
export const gethLimits: HttpLimits = { bodyBytes: 5_242_880, batchItems: 1_000, batchResponseBytes: 25_000_000 };

/** Reads a request in the way geth's HTTP server does. Returns undefined if it rejected the request, or if the sender disconnected. */
export async function readAsGeth(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyBytes }: HttpLimits,
): Promise<string | undefined> {
  const reject = (status: number, text: string) => {
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end(`${text}\n`);
    return undefined;
  };
  const body = await buffer(request).catch(() => undefined);
  // The client disconnected.
  if (body === undefined) return undefined;
  if (request.method !== "POST") return reject(405, "method not allowed");
  if (body.length > bodyBytes) return reject(413, `content length too large (${body.length}>${bodyBytes})`);
  const type = request.headers["content-type"]?.split(";", 1)[0];
  if (type !== "application/json") return reject(415, "invalid content type, only application/json is supported");
  return body.toString("utf8");
}

/** Sends a response in the way geth does: compressed if the client accepts that. */
export function sendAsGeth(request: IncomingMessage, response: ServerResponse, text: string): void {
  const isCompressed = request.headers["accept-encoding"]?.includes("gzip") === true;
  const body = isCompressed ? gzipSync(text) : Buffer.from(text);
  const encoding = isCompressed ? { "Content-Encoding": "gzip" } : {};
  response.writeHead(200, { "Content-Type": "application/json", ...encoding, "Content-Length": body.length });
  response.end(body);
}

/** Formats geth's response to a batch that exceeds its call limit: a single error, with the id of the first call. */
export function respondBatchTooLarge(firstId: string): string {
  return `[{"jsonrpc":"2.0","id":${firstId},"error":{"code":-32600,"message":"batch too large"}}]`;
}

/** Formats geth's response to a batch: once the results exceed the limit, each remaining call gets an error. */
export function joinLikeGeth(
  responses: readonly Readonly<{ id: string; text: string }>[],
  { batchResponseBytes }: HttpLimits,
): string {
  let size = 0;
  const entries = responses.map(({ id, text }) => {
    if (size > batchResponseBytes) {
      return `{"jsonrpc":"2.0","id":${id},"error":{"code":-32003,"message":"response too large"}}`;
    }
    size += text.length;
    return text;
  });
  return `[${entries.join(",")}]`;
}
