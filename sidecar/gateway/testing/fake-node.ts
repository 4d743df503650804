import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";

/** A call as the fake node got it. */
export type NodeRequest = Readonly<{ id: unknown; method: string; params: readonly unknown[]; raw: string }>;

/** What the fake node does with a call: a result, or anything written to the response by hand. */
export type NodeBehaviour = (request: NodeRequest, response: ServerResponse) => unknown;

/** The behaviour's word that it answers by itself. */
export const byHand = Symbol("by hand");

/** A node whose every answer a test decides. */
export type FakeNode = AsyncDisposable &
  Readonly<{
    httpUrl: string;
    webSocketUrl: string;
    requests: NodeRequest[];
    answer: (behaviour: NodeBehaviour) => void;
    /** Makes a block the head, in place of those from its number on, and tells subscribers; by itself it bears no time. */
    newHead: (number: number, hash?: string, fields?: Readonly<{ timestamp: string }>) => void;
    /** Sends a notification of every `logs` subscription. */
    newLog: (log: object) => void;
    subscriptions: () => number;
    /** Closes every WebSocket. */
    cutLink: () => void;
    /** Whether calls are answered; else their connections are closed. */
    takeCalls: (taken: boolean) => void;
    /** Whether new WebSockets are taken. */
    takeLinks: (taken: boolean) => void;
    /** Takes a WebSocket that came to another server's port. */
    takeUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  }>;

/** Starts a fake node on free ports; its head is block 1000. */
export async function startFakeNode(): Promise<FakeNode> {
  const state = { head: block(1_000), behaviour: (() => "0x1") as NodeBehaviour, isTaking: true };
  const chain = new Map([[1_000, state.head]]);
  const requests: NodeRequest[] = [];
  const builtIn = (method: string, params: readonly unknown[]) => {
    if (method !== "eth_getBlockByNumber") return undefined;
    if (params[0] === "latest") return state.head;
    if (params[0] === "finalized") return block(Number(state.head.number) - 64);
    return chain.get(Number(params[0]));
  };
  const server = createServer((request, response) => {
    if (!state.isTaking) return response.destroy();
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    return request.on("end", () => {
      const raw = Buffer.concat(parts).toString("utf8");
      const call = { ...(JSON.parse(raw) as Omit<NodeRequest, "raw">), raw };
      const own = builtIn(call.method, call.params);
      if (own === undefined) requests.push(call);
      const result = own ?? state.behaviour(call, response);
      if (result !== byHand) answerCall(response, call, result);
    });
  });
  const link = serveSubscriptions(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    httpUrl: `http://127.0.0.1:${port}`,
    webSocketUrl: `ws://127.0.0.1:${port}`,
    requests,
    answer: (behaviour) => {
      state.behaviour = behaviour;
    },
    newHead: (number, hash, fields) => {
      state.head = { ...block(number, hash, chain.get(number - 1)?.hash), ...fields };
      chain.set(number, state.head);
      for (const gone of chain.keys()) if (gone > number) chain.delete(gone);
      link.notify("newHeads", state.head);
    },
    newLog: (log) => link.notify("logs", log),
    subscriptions: link.subscriptions,
    cutLink: link.cut,
    takeCalls: (taken) => {
      state.isTaking = taken;
    },
    takeLinks: link.take,
    takeUpgrade: link.takeUpgrade,
    [Symbol.asyncDispose]: async () => {
      link.cut();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerCall(response: ServerResponse, { raw }: NodeRequest, result: unknown): void {
  const id = /"id":(.*?),"method"/.exec(raw)?.[1] ?? "null";
  const body = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

function serveSubscriptions(server: Server) {
  const state = { isTaking: true };
  const sockets = new WebSocketServer({ server, verifyClient: () => state.isTaking });
  const subscriptions = new Map<string, { socket: WebSocket; type: string }>();
  let last = 0;
  sockets.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as { id: number; method: string; params: string[] };
      if (method !== "eth_subscribe") {
        subscriptions.delete(params[0] ?? "");
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: true }));
        return;
      }
      last += 1;
      const subscription = `0x${last.toString(16)}`;
      subscriptions.set(subscription, { socket, type: params[0] ?? "" });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: subscription }));
    });
    socket.on("close", () => {
      for (const [id, own] of subscriptions) if (own.socket === socket) subscriptions.delete(id);
    });
  });
  return {
    subscriptions: () => subscriptions.size,
    take: (taken: boolean) => {
      state.isTaking = taken;
    },
    takeUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      sockets.handleUpgrade(request, socket, head, (taken) => sockets.emit("connection", taken, request)),
    cut: () => {
      for (const socket of sockets.clients) socket.terminate();
    },
    notify: (type: string, result: object) => {
      for (const [subscription, own] of subscriptions) {
        if (own.type !== type) continue;
        const params = { subscription, result };
        own.socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
      }
    },
  };
}

function block(
  number: number,
  hash = `0x${number.toString(16).padStart(64, "0")}`,
  parentHash = `0x${"0".repeat(64)}`,
) {
  return { number: `0x${number.toString(16)}`, hash, parentHash };
}
