import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { Hex } from "viem";
import { WebSocket, WebSocketServer, type RawData } from "ws";
import type { Logger } from "#daemon/log/log.ts";
import type { ChainBlock } from "../anvil/chain.ts";
import { bodyBytesMax } from "./http-endpoint.ts";
import type { Method, Node } from "./extension-methods.ts";
import { errorCode, RpcError } from "./rpc-error.ts";
import type { FindMethod, MessageHandler } from "./rpc-message.ts";

/** Max bytes buffered for one client before it is dropped as too slow. */
const sendBufferBytesMax = 16 * 1024 * 1024;
/** Time for a client to acknowledge a close. */
const closeDeadlineMs = 1_000;
/** RFC 6455, section 7.4.1. */
const goingAway = 1001;

export type WebSocketEndpointParts = Readonly<{
  node: Node;
  handler: MessageHandler;
  methods: ReadonlyMap<string, Method>;
  log: Logger;
}>;

/** The node's WebSocket server, not yet listening. Disposing of it closes all connections (1001). */
export type WebSocketEndpoint = Disposable &
  Readonly<{
    server: Server;
    /** Notifies all subscribers of a block. */
    publish(block: ChainBlock): void;
  }>;

/** A subscription: the filter for logs, or undefined for heads. */
type Subscriptions = Map<string, object | undefined>;

/** `run` performs a client's work in order, so that the response to eth_subscribe precedes the first notification. */
type Client = Readonly<{ subscriptions: Subscriptions; run: (work: () => Promise<void>) => void }>;

export function createWebSocketEndpoint({ node, handler, methods, log }: WebSocketEndpointParts): WebSocketEndpoint {
  const server = createServer((_, response) => {
    response.writeHead(426, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
    response.end("this port speaks WebSocket; send an upgrade request\n");
  });
  const sockets = new WebSocketServer({ server, maxPayload: bodyBytesMax, perMessageDeflate: false });
  // The WebSocket server re-emits the HTTP server's errors, which that server's own listener handles.
  sockets.on("error", (err) => log.debug({ err }, "the WebSocket listener could not accept a connection"));
  const clients = new Map<WebSocket, Client>();
  sockets.on("connection", (socket) => {
    const client = createClient(log);
    const find = addSubscriptionMethods(client.subscriptions, methods, node);
    clients.set(socket, client);
    socket.on("message", (data) => client.run(async () => send(socket, await handler(readText(data), find))));
    socket.on("close", () => clients.delete(socket));
    socket.on("error", (err) => log.debug({ err }, "a WebSocket client's connection broke"));
  });
  return {
    server,
    publish: (block) => {
      for (const [socket, { subscriptions, run }] of clients) run(() => notify(socket, subscriptions, block, node));
    },
    [Symbol.dispose]: () => {
      for (const socket of clients.keys()) {
        socket.close(goingAway, "the node is stopping");
        setTimeout(() => socket.terminate(), closeDeadlineMs).unref();
      }
      sockets.close();
    },
  };
}

function createClient(log: Logger): Client {
  let last = Promise.resolve();
  const run = (work: () => Promise<void>) => {
    last = last
      .then(work)
      .catch((err: unknown) =>
        log.error({ event: "devnet-message-failed", err }, "a WebSocket client got no response or notification"),
      );
  };
  return { subscriptions: new Map(), run };
}

/** Adds `eth_subscribe` and `eth_unsubscribe` of one connection to the node's methods; names and texts are geth's. */
function addSubscriptionMethods(
  subscriptions: Subscriptions,
  methods: ReadonlyMap<string, Method>,
  { anvil }: Node,
): FindMethod {
  const own = new Map<string, Method>([
    [
      "eth_subscribe",
      async ([type, given]) => {
        if (type !== "newHeads" && type !== "logs") {
          throw new RpcError(errorCode.methodNotFound, `no "${String(type)}" subscription in eth namespace`);
        }
        const { address, topics } = (given ?? {}) as { address?: unknown; topics?: unknown };
        const filter = { address: address ?? [], topics: topics ?? [] };
        // The chain rejects a filter that it could not use later.
        if (type === "logs") await anvil.request("eth_getLogs", [{ ...filter, fromBlock: "latest" }]);
        const id = `0x${randomBytes(16).toString("hex")}`;
        subscriptions.set(id, type === "logs" ? filter : undefined);
        return id;
      },
    ],
    [
      "eth_unsubscribe",
      async ([id]) => {
        if (!subscriptions.delete(String(id))) throw new RpcError(errorCode.server, "subscription not found");
        return true;
      },
    ],
  ]);
  return (name) => own.get(name) ?? methods.get(name);
}

/** Sends a client a block's notifications for its subscriptions, in order. */
async function notify(socket: WebSocket, subscriptions: Subscriptions, block: ChainBlock, { anvil }: Node) {
  for (const [subscription, filter] of subscriptions) {
    const results =
      filter === undefined
        ? [buildHeader(block)]
        : await anvil.request<readonly unknown[]>("eth_getLogs", [{ ...filter, blockHash: block.hash as Hex }]);
    for (const result of results) {
      send(socket, JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { subscription, result } }));
    }
  }
}

/** Builds a block's header: the block without its content and the fields derived from the content. */
function buildHeader(block: ChainBlock): object {
  const { transactions: _, uncles: __, withdrawals: ___, size: ____, totalDifficulty: _____, ...header } = block;
  return header;
}

function send(socket: WebSocket, text: string): void {
  if (text === "" || socket.readyState !== WebSocket.OPEN) return;
  if (socket.bufferedAmount > sendBufferBytesMax) return socket.terminate();
  socket.send(text);
}

function readText(data: RawData): string {
  return Array.isArray(data) ? Buffer.concat(data).toString("utf8") : Buffer.from(data as Buffer).toString("utf8");
}
