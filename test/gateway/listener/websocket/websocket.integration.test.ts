import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openRaw } from "../../../support/gateway/raw-call.ts";

const request = (id: unknown, method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

/** A ping, masked with zeros. */
const ping = (text: string) => Buffer.concat([Buffer.from([0x89, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);

describe("WebSocket", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({}, async (started) => {
    ({ node, gateway } = started);
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
  });

  it("responds only to the last of many simultaneous pings", async () => {
    const upgrade = `GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\n\r\n`;
    using client = openRaw(gateway.url, upgrade);
    await until("the upgrade has a response", generousMs, () => client.received().includes("\r\n\r\n"));
    const headBytes = client.receivedBytes();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, (_, at) => ping(String(at).padStart(4, "0"))));
    client.socket.write(pings);
    await until("the last is answered", generousMs, () => client.received().includes("0999"));
    expect((client.receivedBytes() - headBytes) / 6).toBeLessThan(50);
  });

  it("lets identical subscriptions of many clients share one at the node", async () => {
    await using first = await connectTestClient(gateway.url);
    await using secondClient = await connectTestClient(gateway.url);
    const ids: string[] = [];
    for (const client of [first, secondClient, secondClient]) {
      const reply = JSON.parse(await client.ask(request(1, "eth_subscribe", ["newHeads"]))) as { result: string };
      expect(reply.result).toMatch(/^0x[0-9a-f]{32}$/);
      ids.push(reply.result);
    }
    await secondClient.ask(request(1, "eth_subscribe", ["logs", { address: `0x${"AB".repeat(20)}` }]));
    await first.ask(request(1, "eth_subscribe", ["logs", { topics: null, address: `0x${"ab".repeat(20)}` }]));
    expect(node.subscriptions()).toBe(2);
    node.newHead(1_001);
    await until(
      "both have their notifications",
      generousMs,
      () => first.texts.length === 3 && secondClient.texts.length === 5,
    );
    const notification = JSON.parse(first.texts.at(-1) ?? "") as object;
    expect(notification).toMatchObject({
      jsonrpc: "2.0",
      method: "eth_subscription",
      params: { subscription: ids[0], result: { number: "0x3e9" } },
    });
    expect(await first.ask(request(2, "eth_unsubscribe", [ids[0]]))).toBe('{"jsonrpc":"2.0","id":2,"result":true}');
    expect(await first.ask(request(3, "eth_unsubscribe", [ids[0]]))).toContain(
      '"code":-32000,"message":"subscription not found"',
    );
  });

  it("sends notifications only after the subscription's reply, in a batch too", async () => {
    await using client = await connectTestClient(gateway.url);
    node.respondAs(({ method }, response) => {
      node.newHead(1_001);
      node.newHead(1_002);
      response.setHeader("X-Test", method);
      return "0x1";
    });
    const reply = await client.ask(`[${request(1, "eth_subscribe", ["newHeads", {}])},${request(2, "eth_syncing")}]`);
    await until("a notification arrives", generousMs, () => client.texts.length >= 2);
    expect(client.texts[0]).toBe(reply);
  });

  it("closes subscribed clients if the node connection is lost and cannot be bridged", async () => {
    await gateway[Symbol.asyncDispose]();
    gateway = await startTestGateway(node, { webSocket: { bridgeMs: 0 } });
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    await using client = await connectTestClient(gateway.url);
    await client.ask(request(1, "eth_subscribe", ["newHeads"]));
    node.cutLink();
    expect((await client.closed)[0]).toBe(1012);
    expect(await gateway.metrics.metrics()).toContain('gatehouse_gateway_websocket_drops_total{reason="lost"} 1');
    await until("the gateway is subscribed again", generousMs, () => node.subscriptions() === 1);
  });

  it("responds to a client's calls in flight before it closes, and accepts no more", async () => {
    await using client = await connectTestClient(gateway.url);
    const finish: (() => void)[] = [];
    node.respondAs(({ id }, response) => {
      finish.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"late"}`));
      return responseWritten;
    });
    const first = client.ask(request(1, "eth_syncing"));
    client.socket.send(request(2, "eth_syncing"));
    await until("both are at the node", generousMs, () => finish.length === 2);
    const stopped = gateway[Symbol.asyncDispose]();
    client.socket.send(request(3, "eth_syncing"));
    finish[0]?.();
    expect(await first).toContain("late");
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    finish[1]?.();
    expect((await client.closed)[0]).toBe(1001);
    expect(client.texts).toHaveLength(2);
    await stopped;
    gateway = await startTestGateway(node);
  });
});
