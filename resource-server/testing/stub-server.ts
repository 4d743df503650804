import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Builds the response to a request; a rejection breaks the connection. */
export type RespondToRequest = (request: Request) => Response | Promise<Response>;

/** Starts a server on a free port of this machine. Its disposal closes all connections. */
export async function startStubServer(
  respond: RespondToRequest,
): Promise<AsyncDisposable & Readonly<{ origin: string }>> {
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing, respond).catch(() => outgoing.destroy());
  });
  const local = await listenLocally(server);
  return { ...local, origin: local.url };
}

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, respond: RespondToRequest): Promise<void> {
  const { method = "", headers, url = "" } = incoming;
  const body = method === "GET" ? {} : { body: new Uint8Array(await buffer(incoming)) };
  const request = new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: headers as Record<string, string>,
    ...body,
  });
  const response = await respond(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  await pipeline(response.body ?? [], outgoing);
}
