import { createServer, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AnvilRequestError, AnvilUnreachableError, createAnvilClient, type AnvilClient } from "./anvil-request.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const server = createServer((incoming, response) => {
  incoming.setEncoding("utf8").once("data", (text: string) => {
    const { method, id } = JSON.parse(text) as { method: string; id: number };
    if (method === "flood") flood(response);
    else if (method === "revert") {
      const error = { code: 3, message: "execution reverted", data: "0x08c379a0" };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    } else response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
  });
});
const sockets = new Set<Socket>();
server.on("connection", (socket) => sockets.add(socket));

function flood(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write("x".repeat(16_384)));
  };
  response.on("drain", more);
  more();
}

let client: AnvilClient;
beforeAll(async () => {
  const { url } = await listenLocally(server);
  client = createAnvilClient({ url, requestTimeoutMs: 20_000, responseBytesMax: 100_000, connectionsMax: 1 });
});
afterAll(() => {
  client[Symbol.dispose]();
  server.close();
});

it("reuses one connection for several requests", async () => {
  for (let call = 0; call < 3; call += 1) expect(await client.request("eth_blockNumber")).toBe("0x1");
  expect(sockets.size).toBe(1);
});

it("throws the chain's error with its code and data", async () => {
  const failure = await client.request("revert").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AnvilRequestError);
  expect(failure).toMatchObject({ code: 3, message: "execution reverted", data: "0x08c379a0" });
});

it("fails a request whose response exceeds the limit, and serves the next one", async () => {
  const failure = await client.request("flood").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AnvilUnreachableError);
  expect((failure as Error).message).toBe("no response from the chain to flood: the body is larger than 100000 bytes");
  expect(await client.request("eth_blockNumber")).toBe("0x1");
  for (const socket of [...sockets].slice(0, -1))
    if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
});
