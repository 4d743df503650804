import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byHand, startFakeNode, type FakeNode } from "../testing/fake-node.ts";
import { connectTestClient } from "../testing/test-client.ts";
import { startTestGateway, until, type TestGateway } from "../testing/test-gateway.ts";

const request = (id: unknown, method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe("WebSocket", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  beforeEach(async () => {
    node = await startFakeNode();
    gateway = await startTestGateway(node);
    await until("the gateway follows the node's heads", () => node.subscriptions() === 1);
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it("answers calls, batches and bad messages as HTTP does", async () => {
    await using client = await connectTestClient(gateway.url);
    node.answer(() => "0x2a");
    expect(await client.ask(request(null, "eth_syncing"))).toBe('{"jsonrpc":"2.0","id":null,"result":"0x2a"}');
    expect(await client.ask("{")).toBe('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}');
    expect(await client.ask(`[${request(1, "eth_mining")},${request(2, "eth_nothing")}]`)).toBe(
      '[{"jsonrpc":"2.0","id":1,"result":false},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"the method eth_nothing does not exist/is not available"}}]',
    );
  });

  it("lets equal subscriptions of many clients share one at the node", async () => {
    await using first = await connectTestClient(gateway.url);
    await using second = await connectTestClient(gateway.url);
    const ids: string[] = [];
    for (const client of [first, second, second]) {
      const reply = JSON.parse(await client.ask(request(1, "eth_subscribe", ["newHeads"]))) as { result: string };
      expect(reply.result).toMatch(/^0x[0-9a-f]{32}$/);
      ids.push(reply.result);
    }
    await second.ask(request(1, "eth_subscribe", ["logs", { address: `0x${"AB".repeat(20)}` }]));
    await first.ask(request(1, "eth_subscribe", ["logs", { topics: null, address: `0x${"ab".repeat(20)}` }]));
    expect(node.subscriptions()).toBe(2);
    node.newHead(1_001);
    await until("both have their notifications", () => first.texts.length === 3 && second.texts.length === 5);
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
    node.answer(({ method }, response) => {
      node.newHead(1_001);
      node.newHead(1_002);
      response.setHeader("X-Test", method);
      return "0x1";
    });
    const reply = await client.ask(`[${request(1, "eth_subscribe", ["newHeads"])},${request(2, "eth_syncing")}]`);
    await until("a notification comes", () => client.texts.length >= 2);
    expect(client.texts[0]).toBe(reply);
  });

  it("refuses subscriptions that there are none of", async () => {
    await using client = await connectTestClient(gateway.url);
    expect(await client.ask(request(1, "eth_subscribe", ["newPendingTransactions"]))).toContain(
      '"code":-32601,"message":"no \\"newPendingTransactions\\" subscription in eth namespace"',
    );
    expect(await client.ask(request(1, "eth_subscribe", ["logs", { topics: "x" }]))).toContain('"code":-32602');
  });

  it("closes subscribed clients when the node's connection is lost and is not to be bridged", async () => {
    await gateway[Symbol.asyncDispose]();
    gateway = await startTestGateway(node, { webSocket: { bridgeMs: 0 } });
    await until("the gateway follows the node's heads", () => node.subscriptions() === 1);
    await using client = await connectTestClient(gateway.url);
    await client.ask(request(1, "eth_subscribe", ["newHeads"]));
    node.cutLink();
    expect((await client.closed)[0]).toBe(1012);
    expect(await gateway.metrics.metrics()).toContain('gatehouse_gateway_websocket_drops_total{reason="lost"} 1');
    await until("the gateway is subscribed again", () => node.subscriptions() === 1);
  });

  it("closes clients with 1001 when it stops", async () => {
    await using client = await connectTestClient(gateway.url);
    await gateway[Symbol.asyncDispose]();
    expect((await client.closed)[0]).toBe(1001);
    gateway = await startTestGateway(node);
  });

  it("answers the calls of a client that are under way before it closes it, and takes no more", async () => {
    await using client = await connectTestClient(gateway.url);
    const finish: (() => void)[] = [];
    node.answer(({ id }, response) => {
      finish.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"late"}`));
      return byHand;
    });
    const first = client.ask(request(1, "eth_syncing"));
    client.socket.send(request(2, "eth_syncing"));
    await until("both are at the node", () => finish.length === 2);
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

  it("drops a client that takes nothing, and the others have every notification", async () => {
    await using slow = await connectTestClient(gateway.url);
    await using good = await connectTestClient(gateway.url);
    for (const client of [slow, good]) await client.ask(request(1, "eth_subscribe", ["logs", {}]));
    slow.socket.pause();
    const notifications = 200;
    for (let sent = 1; sent <= notifications; sent += 1) {
      node.newLog({ data: `0x${"ab".repeat(100_000)}` });
      await until("the good client has it", () => good.texts.length === sent + 1);
    }
    const drops = 'gatehouse_gateway_websocket_drops_total{reason="slow"} 1';
    await until("the slow one is dropped", async () => (await gateway.metrics.metrics()).includes(drops));
    await until("its subscription is gone", async () =>
      (await gateway.metrics.metrics()).includes("gatehouse_gateway_subscriptions 1"),
    );
  });
});
