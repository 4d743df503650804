import { once } from "node:events";
import { expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { WebSocket } from "ws";
import { responseWritten, startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call } from "#gateway/testing/test-gateway.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startService } from "../support/service-process.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";

const overHttp = 100;
const overWebSocket = 3;
/** A tier that admits all calls at once. */
const publicTier = { ...limitlessTier, concurrency: overHttp + overWebSocket };
const balanceOf = (account: number) => [`0x${account.toString(16).padStart(40, "0")}`, "latest"];

async function takesWebSockets(url: string): Promise<boolean> {
  const socket = new WebSocket(url.replace("http", "ws"));
  const taken = await Promise.race([
    once(socket, "open").then(() => true),
    once(socket, "unexpected-response").then(() => false),
  ]).catch(() => false);
  socket.on("error", () => socket.terminate());
  socket.terminate();
  return taken;
}

it("on SIGTERM, a sidecar answers every call in flight, closes WebSockets with 1001 and exits with 0", async () => {
  await using files = await createFakeNode();
  await using node = await startFakeNode();
  const stateDirectory = await makeTestDirectory();
  const finish: (() => void)[] = [];
  node.respondAs(({ id, method }, response) => {
    if (method !== "eth_getBalance") return "0x688";
    finish.push(() => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"late"}`));
    return responseWritten;
  });
  await using sidecar = await startService("sidecar", {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: files.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.webSocketUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    // Twice as many connections as calls, because one caller gets at most three quarters of them.
    GATEHOUSE_SIDECAR_GATEWAY_UPSTREAM_CONNECTIONS: String(2 * (overHttp + overWebSocket)),
    GATEHOUSE_SIDECAR_GATEWAY_TIERS: JSON.stringify({ public: publicTier }),
  });
  const url = sidecar.urls["gateway"]!;
  const clients = await Promise.all(Array.from({ length: overWebSocket }, () => connectTestClient(url)));
  const asked = clients.map(({ ask }, at) =>
    ask(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBalance", params: balanceOf(1_000 + at) })),
  );
  const recordedCalls = Array.from({ length: overHttp }, (_, at) => call(url, "eth_getBalance", balanceOf(at)));
  await until("all are at the node", generousMs, () => finish.length === overHttp + overWebSocket);
  const ended = sidecar.end("SIGTERM");
  await until("it is stopping", generousMs, async () => !(await takesWebSockets(url)));
  for (const respond of finish) respond();
  for (const { result } of await Promise.all(recordedCalls)) expect(result).toBe("late");
  for (const text of await Promise.all(asked)) expect(text).toContain('"result":"late"');
  for (const { closed } of clients) expect((await closed)[0]).toBe(1001);
  expect(await ended).toBe(0);
});
