import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { keccak256, type Hex } from "viem";

/** Fault of a node behind a proxy: one in this many balance reads is late, or gets status 500. */
export type NodeTrouble = Readonly<{
  delayMs?: number;
  delayEvery?: number;
  failEvery?: number;
  /** Overrides of the node's responses, by method. */
  fates?: Readonly<Record<string, Fate>>;
}>;

/**
 * `fails`: an error; `forgets`: `null`, as for something that the node does not have; `loses`: the node accepts a
 * transaction, but never broadcasts it.
 */
type Fate = "fails" | "forgets" | "loses";

type Call = Readonly<{ id: unknown; method: string; params: readonly unknown[] }>;

/** A path to the node's JSON-RPC over HTTP, with faults on demand. */
export type FaultyRpc = AsyncDisposable & Readonly<{ url: string; trouble: (how: NodeTrouble) => Disposable }>;

/**
 * Forwards JSON-RPC to a node; `trouble` affects only balance reads and the methods of `fates`, so that nothing else is
 * disturbed.
 */
export async function startFaultyRpc(port: number, nodeUrl: string): Promise<FaultyRpc> {
  let trouble: NodeTrouble = {};
  let reads = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { delayMs = 0, delayEvery = 1, failEvery = Infinity, fates = {} } = trouble;
    if (body.includes("eth_getBalance")) {
      reads += 1;
      if (reads % delayEvery === 0) await sleep(delayMs);
      if (reads % failEvery === 0) {
        response.writeHead(500).end("out of order");
        return;
      }
    }
    const headers = { "content-type": "application/json" };
    const passOn = async (message: string) =>
      fetch(nodeUrl, { method: "POST", headers, body: message, signal: AbortSignal.timeout(20_000) });
    if (Object.keys(fates).length === 0) {
      const passed = await passOn(body);
      response.writeHead(passed.status, headers).end(await passed.text());
      return;
    }
    const message = JSON.parse(body) as Call | readonly Call[];
    const answerOne = async (call: Call): Promise<unknown> => {
      const met = answerByFate(call, fates[call.method]);
      if (met !== undefined) return { jsonrpc: "2.0", id: call.id, ...met };
      return (await passOn(JSON.stringify(call))).json();
    };
    const answers = Array.isArray(message)
      ? await Promise.all((message as readonly Call[]).map(answerOne))
      : await answerOne(message as Call);
    response.writeHead(200, headers).end(JSON.stringify(answers));
  };
  const server = createHttpServer((request, response) => {
    // If the node does not respond, the connection is closed.
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

/** Responds to a call with its override; undefined if the call is forwarded. */
function answerByFate({ params }: Call, fate: Fate | undefined): object | undefined {
  switch (fate) {
    case undefined:
      return undefined;
    case "fails":
      return { error: { code: -32_000, message: "out of order" } };
    case "forgets":
      return { result: null };
    case "loses":
      return { result: keccak256(params[0] as Hex) };
  }
}

/** The path of a TCP connection to a port, which can be cut. */
export type FaultyLink = AsyncDisposable & Readonly<{ port: number; cut: () => Promise<AsyncDisposable> }>;

/** Forwards connections to a loopback port. */
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
