import { describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const request = (id: unknown, method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe("responses over WebSocket", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  const tiers = { public: limitlessTier };
  const restart = useGateway({ tiers }, (started) => {
    ({ node, gateway } = started);
    return until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
  });
  const metrics = () => gateway.metrics.metrics();

  it("may have the max length, without side effects on the client", async () => {
    await restart({ tiers, limits: { batchResponseBytes: 12_000_000 } });
    await using client = await connectTestClient(gateway.url);
    await client.ask(request(1, "eth_subscribe", ["newHeads"]));
    for (const bytes of [3_000_000, 8_000_000, 11_900_000]) {
      node.respondAs(() => "z".repeat(bytes));
      expect((await client.ask(request(2, "eth_syncing"))).length).toBe(bytes + 36);
    }
    node.respondAs(() => "z".repeat(13_000_000));
    expect(await client.ask(request("own", "eth_syncing"))).toBe(
      '{"jsonrpc":"2.0","id":"own","error":{"code":-32003,"message":"response too large"}}',
    );
    node.newHead(1_001);
    await until("the subscription continues", generousMs, () => client.texts.at(-1)?.includes('"0x3e9"') === true);
    expect(client.socket.readyState).toBe(client.socket.OPEN);
  });

  it("become errors with the call's id if the node aborts them", async () => {
    await using client = await connectTestClient(gateway.url);
    node.respondAs((_, response) => {
      response.writeHead(200, { "Content-Length": 1_000 });
      response.write('{"jsonrpc":"2.0"', () => response.destroy());
      return responseWritten;
    });
    expect(await client.ask(request(7, "eth_syncing"))).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the node closed the connection before its response was complete; try again later"}}',
    );
    expect(client.socket.readyState).toBe(client.socket.OPEN);
  });

  it("of a batch truncated at its size limit arrive complete, however many of its calls have errors", async () => {
    await restart({ tiers, limits: { batchResponseBytes: 3_000 } });
    await using client = await connectTestClient(gateway.url);
    node.respondAs(() => "x".repeat(2_000));
    const calls = Array.from({ length: 500 }, (_, id) => request(`${"i".repeat(50)}${id}`, "eth_syncing"));
    const items = JSON.parse(await client.ask(`[${calls.join(",")}]`)) as { error?: { code: number } }[];
    expect(items).toHaveLength(500);
    expect(items.at(-1)?.error?.code).toBe(-32003);
  });

  it("wait for a slow client, which is not dropped because of its own requests", async () => {
    const calls = 300;
    const resultBytes = 200_000;
    node.respondAs(() => "z".repeat(resultBytes));
    await using client = await connectTestClient(gateway.url);
    await client.ask(request(0, "eth_gasPrice"));
    client.socket.pause();
    for (let id = 1; id <= calls; id += 1) client.socket.send(request(id, "eth_gasPrice"));
    const answered = async () =>
      Number(/^gatehouse_gateway_reads_total\{.*source="cache".*\} (\d+)$/m.exec(await metrics())?.[1] ?? 0);
    await until("some have responses", generousMs, async () => (await answered()) > 0);
    // The cache could serve all of them immediately.
    expect(await answered()).toBeLessThan(calls / 2);
    client.socket.resume();
    await until("all came", generousMs, () => client.texts.length === calls + 1);
    expect(client.texts.slice(1).map((text) => (JSON.parse(text) as { id: number }).id)).toEqual(
      Array.from({ length: calls }, (_, at) => at + 1),
    );
    expect(await metrics()).not.toContain('websocket_drops_total{reason="slow"}');
  });
});

describe("a WebSocket client that ignores pings", () => {
  it("is dropped, while a responsive one is not", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, { webSocket: { pingIntervalMs: 200 } });
    await using silentClient = await connectTestClient(gateway.url, {}, { autoPong: false });
    await using good = await connectTestClient(gateway.url);
    expect((await silentClient.closed)[0]).toBe(1006);
    expect(await gateway.metrics.metrics()).toContain('gatehouse_gateway_websocket_drops_total{reason="silent"} 1');
    expect(await good.ask(request(1, "eth_mining"))).toContain("false");
  });
});
