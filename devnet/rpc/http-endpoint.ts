import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readBodyStart } from "#daemon/bytes.ts";

/** Max body size, as in geth. */
export const bodyBytesMax = 5 * 1024 * 1024;

const timeouts = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000 };
const contentTypes = new Set(["application/json", "application/json-rpc", "application/jsonrequest"]);

/** Creates the node's HTTP server: `POST /`, and geth's responses to all other requests (an empty GET returns 200, for load balancers). */
export function createHttpEndpoint(answer: (text: string) => Promise<string>): Server {
  return createServer(timeouts, (request, response) => {
    respond(request, response, answer).catch((error: unknown) => response.destroy(error as Error));
  });
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (text: string) => Promise<string>,
): Promise<void> {
  if (request.url?.split("?")[0] !== "/") return reject(response, 404, "not found; JSON-RPC is served at /");
  if (request.method === "GET") return void response.end();
  if (request.method !== "POST") return reject(response, 405, "method not allowed; send POST");
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!contentTypes.has(type)) return reject(response, 415, "invalid content type; only application/json is supported");
  const { bytes, isTruncated } = await readBodyStart(request.iterator({ destroyOnReturn: false }), bodyBytesMax);
  if (isTruncated) return reject(response, 413, `content length too large, at most ${bodyBytesMax} bytes`);
  response.setHeader("Content-Type", "application/json");
  response.end(await answer(new TextDecoder().decode(bytes)));
}

/** Rejects a request; closes its connection, because the rest of its body would be parsed as the next request. */
function reject(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
  response.end(`${text}\n`);
}
