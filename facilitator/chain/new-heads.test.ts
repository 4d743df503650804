import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";
import { createLog } from "#daemon/log/log.ts";
import { followNewHeads } from "./new-heads.ts";

/** Runs the event loop without advancing time. */
const noPause = () => new Promise<void>((resolve) => setImmediate(resolve));
const log = createLog({ service: "test", level: "silent" });

/** A node that exposes its connections and sends nothing by itself. */
async function startNode() {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connection: async (): Promise<WebSocket> => (await once(server, "connection"))[0],
    [Symbol.asyncDispose]: async () => {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("it subscribes, and announces blocks and nothing else", async () => {
  await using node = await startNode();
  const reported = Promise.withResolvers<void>();
  let heads = 0;
  const connecting = node.connection();
  const onHead = () => {
    heads += 1;
    reported.resolve();
  };
  await using _following = followNewHeads({ url: node.url }, { onHead, log });
  const connection = await connecting;
  const [request] = await once(connection, "message");
  expect(JSON.parse(String(request))).toMatchObject({ method: "eth_subscribe", params: ["newHeads"] });
  connection.send("no JSON");
  connection.send(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x1" }));
  connection.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: {} }));
  await reported.promise;
  expect(heads).toBe(1);
});

test("a connection that breaks is made again", async () => {
  await using node = await startNode();
  const connecting = node.connection();
  await using _following = followNewHeads({ url: node.url }, { onHead: () => undefined, log, pause: noPause });
  const first = await connecting;
  const again = node.connection();
  first.terminate();
  await once(await again, "message");
});

test("its end does not wait for a node that never agrees to it", async () => {
  await using node = await startNode();
  const connecting = node.connection();
  const following = followNewHeads({ url: node.url }, { onHead: () => undefined, log });
  const connection = await connecting;
  await once(connection, "message");
  connection.pause();
  await following[Symbol.asyncDispose]();
});

test("it ends while nobody listens", async () => {
  const { url } = await (async () => {
    await using node = await startNode();
    return { url: node.url };
  })();
  await followNewHeads({ url }, { onHead: () => undefined, log })[Symbol.asyncDispose]();
});
