import { describe, expect, it } from "vitest";
import { byHand, startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const trace = (at: number) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: at,
    method: "debug_traceTransaction",
    params: [`0x${String(at).padStart(64, "0")}`],
  });

describe("overload", () => {
  it("leaves cheap reads alone and refuses heavy ones, with when to come again", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      overload: { heavyParallel: 2, retryAfterSeconds: 7 },
    });
    const finish: (() => void)[] = [];
    node.answer(({ id, method }, response) => {
      if (!method.startsWith("debug_")) return "0x1";
      finish.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":{}}`));
      return byHand;
    });
    const underWay = [post(gateway.url, trace(1)), post(gateway.url, trace(2))];
    await until("both heavy calls are at the node", generousMs, () => finish.length === 2);
    const refused = await post(gateway.url, trace(3));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(refused.text).toBe(
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"too much load; try again later"}}',
    );
    for (let round = 0; round < 20; round += 1) expect((await call(gateway.url, "eth_syncing")).result).toBe("0x1");
    const batch = await post(gateway.url, `[${trace(4)},{"jsonrpc":"2.0","id":5,"method":"eth_syncing"}]`);
    expect(JSON.parse(batch.text)).toMatchObject([
      { id: 4, error: { code: -32005 } },
      { id: 5, result: "0x1" },
    ]);
    await using client = await connectTestClient(gateway.url);
    expect(await client.ask(trace(6))).toContain("-32005");
    for (const end of finish) end();
    expect((await Promise.all(underWay)).map(({ status }) => status)).toEqual([200, 200]);
    const late = post(gateway.url, trace(7));
    await until("heavy calls are let in again", generousMs, () => finish.length === 3);
    finish[2]!();
    expect((await late).status).toBe(200);
  });

  it("refuses all calls to the node from a number on, but answers what it knows by itself", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      overload: { callsInFlight: 3 },
    });
    const finish: (() => void)[] = [];
    node.answer(({ id }, response) => {
      finish.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"0x1"}`));
      return byHand;
    });
    const underWay = Array.from({ length: 3 }, () => call(gateway.url, "eth_syncing"));
    await until("three are under way", generousMs, () => finish.length === 3);
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';
    expect((await post(gateway.url, body)).status).toBe(429);
    expect((await call(gateway.url, "eth_coinbase")).result).toBe("0x0");
    expect(await gateway.metrics.metrics()).toContain(
      'gatehouse_gateway_limited_total{limit="overload",tier="public"} 1',
    );
    for (const end of finish) end();
    expect((await Promise.all(underWay)).map(({ result }) => result)).toEqual(["0x1", "0x1", "0x1"]);
  });
});

describe("a listener's bound of WebSockets", () => {
  it("holds for all its clients together", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, { tiers: { public: limitlessTier }, webSocket: { clients: 2 } });
    await using first = await connectTestClient(gateway.url);
    await using second = await connectTestClient(gateway.url);
    await expect(connectTestClient(gateway.url)).rejects.toThrow("503");
    expect(await gateway.metrics.metrics()).toContain(
      'gatehouse_gateway_limited_total{limit="clients",tier="public"} 1',
    );
    second.socket.terminate();
    await until("there is room again", generousMs, async () =>
      (await gateway.metrics.metrics()).includes("gatehouse_gateway_websocket_clients 1"),
    );
    await using third = await connectTestClient(gateway.url);
    for (const client of [first, third]) {
      expect(await client.ask('{"jsonrpc":"2.0","id":1,"method":"eth_mining"}')).toContain("false");
    }
  });
});

describe("a tier's bounds of WebSockets", () => {
  it("hold for messages, connections and subscriptions, each tier its own", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: {
        public: { ...limitlessTier, webSockets: 1, subscriptions: 1, messageBytes: 1_000 },
        internal: { ...limitlessTier, webSockets: 2, subscriptions: 2 },
      },
      internal: { enabled: true },
    });
    const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';
    const long = `{"jsonrpc":"2.0","id":1,"method":"eth_mining","params":[${" ".repeat(1_000)}]}`;
    for (const [url, most] of [
      [gateway.url, 1],
      [gateway.urls["internal"]!, 2],
    ] as const) {
      const clients = [];
      for (let opened = 0; opened < most; opened += 1) clients.push(await connectTestClient(url));
      await expect(connectTestClient(url)).rejects.toThrow("429");
      const [client] = clients;
      for (let made = 0; made < most; made += 1) expect(await client!.ask(subscribe)).toContain("result");
      expect(await client!.ask(subscribe)).toContain("-32005");
      if (most === 2) expect(await client!.ask(long)).toContain('"result":false');
      else {
        client!.socket.send(long);
        expect((await client!.closed)[0]).toBe(1009);
      }
      for (const one of clients) await one[Symbol.asyncDispose]();
    }
  });
});
