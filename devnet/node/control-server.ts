import { rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { beginListening } from "#daemon/http/listening-sockets.ts";
import { findControlAddress } from "./control-client.ts";
import type { Pruning } from "../pruning.ts";

/**
 * Serves the requests of `node_cli` to a running node, over a Unix socket in the workspace's run directory, which the owner alone may
 * enter: `GET /prune` and `POST /prune/auto` answer PruneInfo as JSON.
 */
export async function startControlServer(runDirectory: string, pruning: Pruning): Promise<AsyncDisposable> {
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    const route = `${request.method} ${request.url}`;
    if (route === "GET /prune") return answer(response, 200, pruning.info());
    if (route !== "POST /prune/auto") return answer(response, 404, { error: `no such route: ${route}` });
    pruning.enable().then(
      () => answer(response, 200, pruning.info()),
      (error: unknown) => answer(response, 500, { error: `auto-pruning can't be kept on: ${String(error)}` }),
    );
  });
  // The workspace's lock is held: a socket that is there was left behind by a killed node.
  await rm(join(runDirectory, "control.sock"), { force: true });
  const address = await findControlAddress(runDirectory);
  await beginListening(server, { path: address.path });
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await address[Symbol.asyncDispose]();
    },
  };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
