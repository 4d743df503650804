import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const initialMs = 20;
const maxMs = 160;
const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';

/** Occupies the port of the node's WebSocket, and rejects and records connection attempts until the node is up. */
async function startPlace(node: FakeNode) {
  const state = { attempts: [] as number[], entryExists: false };
  const server: Server = createServer();
  server.on("upgrade", (request, socket, head) => {
    state.attempts.push(performance.now());
    socket.on("error", () => socket.destroy());
    if (!state.entryExists) return socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    // The fake node takes over the connection as if it had arrived at its own port.
    node.takeUpgrade(request, socket, head);
    return undefined;
  });
  const local = await listenLocally(server);
  return { ...local, state, url: local.url.replace("http", "ws") };
}

describe("the link to a node without a WebSocket", () => {
  let node: FakeNode;
  let place: Awaited<ReturnType<typeof startPlace>>;
  let gateway: TestGateway;
  let lines: string[];
  beforeEach(async () => {
    node = await startFakeNode();
    place = await startPlace(node);
    lines = [];
    const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
    gateway = await startTestGateway(
      { httpUrl: node.httpUrl, webSocketUrl: place.url },
      { webSocket: { reconnectMs: initialMs, reconnectMaxMs: maxMs, bridgeMs: 0 }, head: { pollIntervalMs: 20 } },
      log,
    );
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    node.cutLink();
    await place[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const reported = (text: string) => lines.filter((line) => line.includes(text)).length;
  const isLinked = async () => /^gatehouse_gateway_upstream_connected 1$/m.test(await gateway.metrics.metrics());

  it("is retried forever with growing waits, logs that once, and reconnects soon after the node responds again", async () => {
    const { attempts } = place.state;
    await until("several attempts were made", generousMs, () => attempts.length >= 8);
    attempts.slice(1).forEach((at, before) => {
      const leastMs = Math.min(initialMs * 2 ** before, maxMs) / 2;
      expect(at - (attempts[before] ?? 0)).toBeGreaterThanOrEqual(leastMs - 1);
    });
    expect(reported("can't connect to the node's WebSocket")).toBe(1);
    expect(await isLinked()).toBe(false);
    expect((await call(gateway.url, "eth_syncing")).result).toBe("0x1");
    place.state.entryExists = true;
    await until("it is connected", generousMs, isLinked);
    expect([reported("connected to the node's WebSocket"), reported("can't connect")]).toEqual([1, 1]);
    await using client = await connectTestClient(gateway.url);
    expect(await client.ask(subscribe)).toContain('"result":"0x');
  });

  it("restarts with short waits after a successful connection, and logs each loss once", async () => {
    const { attempts } = place.state;
    await until("several attempts were made", generousMs, () => attempts.length >= 6);
    place.state.entryExists = true;
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    place.state.entryExists = false;
    attempts.length = 0;
    node.cutLink();
    await until("another attempt was made", generousMs, () => attempts.length >= 6);
    expect([reported("lost the node's WebSocket"), reported("can't connect"), reported("connected to")]).toEqual([
      1, 2, 1,
    ]);
    place.state.entryExists = true;
    await until("it is connected", generousMs, isLinked);
    expect(reported("connected to the node's WebSocket")).toBe(2);
  });

  it("is retried at once when the node responds again, however long the wait", async () => {
    await gateway[Symbol.asyncDispose]();
    const longMs = 3_600_000;
    gateway = await startTestGateway(
      { httpUrl: node.httpUrl, webSocketUrl: place.url },
      { webSocket: { reconnectMs: longMs, reconnectMaxMs: longMs }, head: { pollIntervalMs: 20, staleAfterMs: 200 } },
    );
    const attemptsBefore = place.state.attempts.length;
    node.takeCalls(false);
    await until("the head is not known", generousMs, () => !gateway.readiness().ok);
    // The head is also unknown while the gateway is too busy to query it. After this many rejected calls, at least one complete check has
    // failed.
    await until("checks of the head failed", generousMs, () => node.rejectedCalls() >= 8);
    expect(place.state.attempts.length).toBe(attemptsBefore);
    place.state.entryExists = true;
    node.takeCalls(true);
    await until("it is connected", generousMs, isLinked);
  });
});
