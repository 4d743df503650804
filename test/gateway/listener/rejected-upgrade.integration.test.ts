import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openRaw } from "../../support/gateway/raw-call.ts";

const upgradeOf = (path: string, headers = "") =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n${headers}\r\n`;
const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

describe("a rejected WebSocket", () => {
  let node: FakeNode;
  beforeAll(async () => {
    node = await startFakeNode();
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it.each([
    ["off the path", upgradeOf("/elsewhere", key), "404 Not Found", 2],
    ["without a key", upgradeOf("/"), "400 Bad Request", 2],
    ["beyond the client limit", upgradeOf("/", key), "503 Service Unavailable", 1],
  ])("%s is disconnected, even if the client leaves its own side open", async (_, request, status, clients) => {
    await using gateway = await startTestGateway(node, { webSocket: { clients } });
    using first = openRaw(gateway.url, upgradeOf("/", key), { allowHalfOpen: true });
    await until("the first is accepted", generousMs, () => first.received().includes("101 Switching Protocols"));
    using rejected = openRaw(gateway.url, request, { allowHalfOpen: true });
    await until("the other one gets it", generousMs, () => rejected.received().startsWith(`HTTP/1.1 ${status}`));
    const connections = async () =>
      /gatehouse_connections\{listener="public"\} (\d+)/.exec(await gateway.metrics.metrics())?.[1];
    await until("only the first is left", generousMs, async () => (await connections()) === "1");
    expect(rejected.received()).toMatch(/Connection: close/i);
  });
});
