import { createServer, type Server } from "node:http";
import type { Hex } from "viem";
import { WebSocket, WebSocketServer, type RawData } from "ws";
import type { Logger } from "#daemon/log/log.ts";
import type { ChainBlock } from "../anvil/chain.ts";
import { bodyBytesMax } from "./http-endpoint.ts";
import type { Node } from "./method.ts";
import type { MessageHandler } from "./rpc-message.ts";
import { createSubscriptions, type Subscriptions, type Topic } from "./subscriptions.ts";
import type { LogFilter } from "./log-filter.ts";

/** Max concurrent connections. */
const connectionsMax = 10_000;
/** Max queued messages per connection. */
const waitingMessagesMax = 1_000;
/** Max bytes buffered for one client before it is dropped as too slow. */
const sendBufferBytesMax = 16 * 1024 * 1024;
const pingIntervalMs = 30_000;
/** Time for a client to acknowledge a close. */
const closeDeadlineMs = 1_000;

/** RFC 6455, section 7.4.1. */
const closeCode = { goingAway: 1001, policy: 1008, tryAgainLater: 1013 } as const;

export type WebSocketEndpointParts = Readonly<{ handler: MessageHandler; node: Node; log: Logger }>;

/** The node's WebSocket server, not yet listening. Disposing of it closes all connections (1001). */
export type WebSocketEndpoint = Disposable &
  Readonly<{
    server: Server;
    /** Notifies all subscribers of a block. */
    publish(block: ChainBlock): void;
  }>;

type Client = { subscriptions: Subscriptions; pending: Promise<void>; alive: boolean };

/** Creates the node's WebSocket server. */
export function createWebSocketEndpoint(parts: WebSocketEndpointParts): WebSocketEndpoint {
  const server = createServer((_, response) => {
    response.writeHead(426, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
    response.end("this port speaks WebSocket; send an upgrade request\n");
  });
  const sockets = new WebSocketServer({ server, maxPayload: bodyBytesMax, perMessageDeflate: false });
  // The WebSocket server re-emits the HTTP server's errors, which that server's own listener handles.
  sockets.on("error", (error) =>
    parts.log.debug({ err: error }, "the WebSocket listener could not accept a connection"),
  );
  const clients = new Map<WebSocket, Client>();
  sockets.on("connection", (socket) => {
    if (clients.size >= connectionsMax) return socket.close(closeCode.tryAgainLater, "too many connections");
    const client: Client = { subscriptions: createSubscriptions(), pending: Promise.resolve(), alive: true };
    clients.set(socket, client);
    serve(socket, client, parts);
    socket.on("pong", () => (client.alive = true));
    socket.on("close", () => clients.delete(socket));
    socket.on("error", (error) => parts.log.debug({ err: error }, "a WebSocket client's connection broke"));
  });
  const pinging = setInterval(() => sendPings(clients), pingIntervalMs).unref();
  return {
    server,
    publish: (block) => {
      const pending = prepareNotifications(block, parts.node);
      for (const [socket, client] of clients) notify(socket, client, pending, parts.log);
    },
    [Symbol.dispose]: () => {
      clearInterval(pinging);
      for (const socket of clients.keys()) {
        socket.close(closeCode.goingAway, "the node is stopping");
        setTimeout(() => socket.terminate(), closeDeadlineMs).unref();
      }
      sockets.close();
    },
  };
}

/** Handles a connection's messages one at a time. */
function serve(socket: WebSocket, client: Client, { handler, log }: WebSocketEndpointParts): void {
  let last = Promise.resolve();
  let waiting = 0;
  socket.on("message", (data: RawData) => {
    waiting += 1;
    if (waiting > waitingMessagesMax) return socket.close(closeCode.policy, "too many unanswered requests");
    last = last
      .then(() => answer(socket, readText(data), client.subscriptions, handler))
      .catch((error: unknown) =>
        log.error({ event: "devnet-message-failed", err: error }, "a WebSocket message got no response"),
      )
      .finally(() => (waiting -= 1));
  });
}

async function answer(
  socket: WebSocket,
  text: string,
  subscriptions: Subscriptions,
  handler: MessageHandler,
): Promise<void> {
  send(socket, await handler.handle(text, { subscriptions }));
  subscriptions.activate();
}

/** Sends a client the notifications for its subscriptions, in order. */
function notify(socket: WebSocket, client: Client, pending: BlockNotifications, log: Logger): void {
  const topics = [...client.subscriptions.active()];
  if (topics.length === 0) return;
  client.pending = client.pending
    .then(() => notifyTopics(socket, topics, pending))
    .catch((error: unknown) =>
      log.error({ event: "devnet-heads-not-announced", err: error }, "subscribers could not be notified of a block"),
    );
}

async function notifyTopics(
  socket: WebSocket,
  topics: readonly (readonly [Hex, Topic])[],
  pending: BlockNotifications,
): Promise<void> {
  for (const [id, topic] of topics) {
    for (const result of await pending(topic)) send(socket, formatNotification(id, result));
  }
}

function send(socket: WebSocket, text: string): void {
  if (text === "" || socket.readyState !== WebSocket.OPEN) return;
  if (socket.bufferedAmount > sendBufferBytesMax) return socket.terminate();
  socket.send(text);
}

function sendPings(clients: ReadonlyMap<WebSocket, Client>): void {
  for (const [socket, client] of clients) {
    if (!client.alive) {
      socket.terminate();
      continue;
    }
    client.alive = false;
    socket.ping();
  }
}

function readText(data: RawData): string {
  return Array.isArray(data) ? Buffer.concat(data).toString("utf8") : Buffer.from(data as Buffer).toString("utf8");
}

/** Returns one block's notifications for a topic as JSON texts, computed once for all subscribers. */
type BlockNotifications = (topic: Topic) => Promise<readonly string[]>;

/** Prepares the notifications of a block. */
function prepareNotifications(block: ChainBlock, node: Node): BlockNotifications {
  const header = JSON.stringify(buildHeader(block));
  const logs = new Map<string, Promise<readonly string[]>>();
  return async (topic) => {
    if (topic.type === "newHeads") return [header];
    const key = JSON.stringify(topic.filter);
    const known = logs.get(key) ?? readLogs(block, topic.filter, node);
    logs.set(key, known);
    return known;
  };
}

/** Formats a message with one notification (geth's `eth_subscription`). */
function formatNotification(id: Hex, result: string): string {
  return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`;
}

/** Builds a block's header: the block without its content and the fields derived from the content. */
function buildHeader(block: ChainBlock): object {
  const { transactions: _, uncles: __, withdrawals: ___, size: ____, totalDifficulty: _____, ...header } = block;
  return header;
}

async function readLogs(block: ChainBlock, { address, topics }: LogFilter, { anvil }: Node) {
  if (block.transactions.length === 0) return [];
  const filter = { blockHash: block.hash, address: address ?? [], topics: topics ?? [] };
  const logs = await anvil.request<readonly unknown[]>("eth_getLogs", [filter]);
  return logs.map((log) => JSON.stringify(log));
}
