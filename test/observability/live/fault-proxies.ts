import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** How a node behind a proxy serves reads of balances: one of so many is late, or answered by status 500. */
export type NodeTrouble = Readonly<{ delayMs?: number; delayEvery?: number; failEvery?: number }>;

/** A way to the node's JSON-RPC over HTTP that can be troubled. */
export type FaultyRpc = AsyncDisposable & Readonly<{ url: string; trouble: (how: NodeTrouble) => Disposable }>;

/** Passes JSON-RPC on to a node; only reads of balances meet what `trouble` says, so that nobody else notices. */
export async function startFaultyRpc(port: number, nodeUrl: string): Promise<FaultyRpc> {
  let trouble: NodeTrouble = {};
  let reads = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const { delayMs = 0, delayEvery = 1, failEvery = Infinity } = trouble;
    if (body.includes("eth_getBalance")) {
      reads += 1;
      if (reads % delayEvery === 0) await sleep(delayMs);
      if (reads % failEvery === 0) {
        response.writeHead(500).end("out of order");
        return;
      }
    }
    const headers = { "content-type": "application/json" };
    const passed = await fetch(nodeUrl, { method: "POST", headers, body, signal: AbortSignal.timeout(20_000) });
    response.writeHead(passed.status, headers).end(await passed.text());
  };
  const server = createHttpServer((request, response) => {
    // A node that does not answer is passed on as a connection that ends.
    answer(request, response).catch(() => response.destroy());
  });
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${port}`,
    trouble: (how) => {
      trouble = how;
      return { [Symbol.dispose]: () => void (trouble = {}) };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await close(server);
    },
  };
}

/** A TCP connection's way to a port that can be cut. */
export type FaultyLink = AsyncDisposable & Readonly<{ port: number; cut: () => Promise<AsyncDisposable> }>;

/** Passes connections on to a port of loopback. */
export async function startFaultyLink(behindPort: number): Promise<FaultyLink> {
  const sockets = new Set<Socket>();
  const open = async (port: number) => {
    const server = createServer((client) => {
      const behind = connect(behindPort, "127.0.0.1");
      for (const [socket, other] of [
        [client, behind],
        [behind, client],
      ] as const) {
        sockets.add(socket);
        socket.on("error", () => other.destroy());
        socket.on("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
    await listen(server, port);
    return server;
  };
  let server = await open(0);
  const { port } = server.address() as AddressInfo;
  const cut = async () => {
    for (const socket of sockets) socket.destroy();
    await close(server);
  };
  return {
    port,
    cut: async () => {
      await cut();
      return { [Symbol.asyncDispose]: async () => void (server = await open(port)) };
    },
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await cut();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
