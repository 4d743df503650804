import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";

/**
 * A node's WebSocket that sends a new head every second, as an idle node does; every managed node has such a WebSocket.
 */
export type HeadsSocket = AsyncDisposable & Readonly<{ url: string }>;

const blockMs = 1_000;
const subscription = "0x1";

export async function startHeadsSocket(): Promise<HeadsSocket> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const clients = new Set<WebSocket>();
  let height = 1;
  server.on("connection", (client) => {
    client.on("close", () => clients.delete(client));
    client.on("message", (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id: number; method: string };
      const result = method === "eth_subscribe" ? subscription : hex(height);
      client.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
      if (method === "eth_subscribe") clients.add(client);
    });
  });
  const timer = setInterval(() => {
    height += 1;
    const result = { number: hex(height), hash: hash(height), parentHash: hash(height - 1) };
    const notification = { jsonrpc: "2.0", method: "eth_subscription", params: { subscription, result } };
    for (const client of clients) client.send(JSON.stringify(notification));
  }, blockMs);
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const hex = (number: number) => `0x${number.toString(16)}`;
const hash = (number: number) => `0x${number.toString(16).padStart(64, "0")}`;
