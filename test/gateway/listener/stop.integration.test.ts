import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { pause } from "#daemon/time.ts";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';
const request = buildRequest(body);
const half = request.slice(0, -body.length + 9);

const open = (url: string, sent: string) => openRaw(url, sent, { allowHalfOpen: true });

// Each test has its own node and mostly waits, so the tests run concurrently.
describe.concurrent.each(bothPaths)("a listener that stops, on %s", (_, fastPath) => {
  const start = (node: FakeNode, listener: object = {}) =>
    startTestGateway(node, { tiers: { public: limitlessTier }, listener: { fastPath, ...listener } }, undefined, pause);

  it.each([
    ["no data", ""],
    ["half a head", "POST / HTTP/1.1\r\nHost: a\r\nConte"],
    ["half a body", half],
    ["half a request after a complete one", `${request}${half}`],
  ])("stops promptly even if a client has sent %s and leaves its connection open", async (_what, sent) => {
    await using node = await startFakeNode();
    const gateway = await start(node, { requestTimeoutMs: 600_000 });
    node.respondAs(() => false);
    using client = open(gateway.url, sent);
    await until("the connection is open", generousMs, async () =>
      (await gateway.metrics.metrics()).includes('gatehouse_connections{listener="public"} 1'),
    );
    if (sent.startsWith(request))
      await until("the first has a response", generousMs, () => client.received().includes("false"));
    await delay(50);
    // Long before the request timeout, which exceeds this test's timeout.
    await gateway[Symbol.asyncDispose]();
    await until("the client gets it", generousMs, client.isClosed);
    if (sent === "") expect(client.received()).toBe("");
    else expect(client.received()).toMatch(/HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n$/);
  });

  it("serves a request that completes after shutdown began, and closes the connection", async () => {
    await using node = await startFakeNode();
    const gateway = await start(node);
    node.respondAs(() => "late");
    using client = open(gateway.url, half);
    await until("the connection is open", generousMs, async () =>
      (await gateway.metrics.metrics()).includes('gatehouse_connections{listener="public"} 1'),
    );
    const stopped = gateway[Symbol.asyncDispose]();
    // Waits until idle connections are closed, but not until incomplete ones are.
    await delay(800);
    client.socket.write(body.slice(9));
    await until("the response has arrived", generousMs, client.isClosed);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"result":"late"/);
    expect(client.received().toLowerCase()).toContain("connection: close");
    await stopped;
  });

  it("waits longer for a call in flight", async () => {
    await using node = await startFakeNode();
    const gateway = await start(node);
    let finish: (() => void) | undefined;
    node.respondAs(({ id }, response) => {
      finish = () => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"finished"}`);
      return responseWritten;
    });
    const response = post(gateway.url, body);
    await until("the call is at the node", generousMs, () => finish !== undefined);
    const stopped = gateway[Symbol.asyncDispose]();
    await delay(2_500);
    finish?.();
    expect((await response).text).toContain("finished");
    await stopped;
  });
});

describe("an idle keep-alive connection", () => {
  it("stays open for as long as its responses promise, and is closed soon after", async () => {
    await using node = await startFakeNode();
    node.respondAs(() => false);
    await using gateway = await startTestGateway(node, { listener: { idleTimeoutMs: 2_000 } });
    using client = open(gateway.url, request);
    await until("it has a response", generousMs, () => client.received().includes("false"));
    expect(client.received()).toContain("Keep-Alive: timeout=2");
    const answeredAt = performance.now();
    await until("it is closed", generousMs, client.isClosed);
    expect(performance.now() - answeredAt).toBeGreaterThanOrEqual(2_000);
  });

  it("delivers a complete response even if it is read after the idle timeout", async () => {
    await using node = await startFakeNode();
    node.respondAs(() => "z".repeat(40_000));
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      listener: { idleTimeoutMs: 500, slowReaderTimeoutMs: 20_000 },
    });
    const responses = 200;
    const { socket } = open(gateway.url, request.repeat(responses));
    socket.pause();
    await delay(2_500);
    let received = "";
    socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1"))).resume();
    await until("all of it has arrived", generousMs, () => received.split('"id":1').length - 1 === responses);
    socket.destroy();
  });
});
