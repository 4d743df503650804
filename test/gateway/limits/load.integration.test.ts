import { JsonRpcProvider, Network, WebSocketProvider, type JsonRpcApiProvider } from "ethers";
import { createPublicClient, http as viemHttp, numberToHex } from "viem";
import { describe, expect, it } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const account = `0x${"ab".repeat(20)}` as const;
const word = `0x${"0".repeat(63)}1`;
const trace = (at: number) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: at,
    method: "debug_traceTransaction",
    params: [`0x${String(at).padStart(64, "0")}`],
  });

describe("overload", () => {
  it("does not affect cheap reads, and causes heavy ones that waited in vain to be rejected with a Retry-After", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      overload: { heavyParallel: 2, waitMs: 100, retryAfterSeconds: 7 },
    });
    const finish = node.hold({}, (method) => method.startsWith("debug_"));
    const underWay = [post(gateway.url, trace(1)), post(gateway.url, trace(2))];
    await until("both heavy calls are at the node", generousMs, () => finish.length === 2);
    const rejectedResponse = await post(gateway.url, trace(3));
    expect([rejectedResponse.status, rejectedResponse.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(rejectedResponse.text).toBe(
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"rate limit exceeded: too much load; try again later"}}',
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
    await until("heavy calls are admitted again", generousMs, () => finish.length === 3);
    finish[2]!();
    expect((await late).status).toBe(200);
  });
});

const logs = (at: number) =>
  `{"jsonrpc":"2.0","id":${at},"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x${at.toString(16)}"}]}`;

describe("heavy calls beyond their max concurrency", () => {
  const tiers = { public: { ...limitlessTier, logsBlocks: 10_000 } };
  const callers = { trustedProxies: ["127.0.0.1"] };

  it("wait for the others: parallel batches of an indexer lose none, and other callers get their turns", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers,
      callers,
      overload: { heavyParallel: 2, waitMs: generousMs },
    });
    const finish = node.hold([], (method) => method === "eth_getLogs");
    const from = (address: string, body: string) => post(gateway.url, body, { "X-Forwarded-For": address });
    const batches = Array.from({ length: 10 }, (_, at) =>
      from(
        "198.51.100.1",
        `[${ids(1 + at * 20, 20)
          .map(logs)
          .join(",")}]`,
      ),
    );
    // Each batch starts 16 calls; two are at the node.
    await gateway.shows("gatehouse_gateway_calls_queued 158\n");
    const other = from("198.51.100.2", logs(900));
    await gateway.shows("gatehouse_gateway_calls_queued 159\n");
    node.respondAs(() => []);
    for (const end of finish) end();
    expect((await other).status).toBe(200);
    for (const { status, text } of await Promise.all(batches)) expect([status, errorsIn(text)]).toEqual([200, []]);
    const order = node.requests.filter(({ method }) => method === "eth_getLogs").map(({ id }) => id);
    expect(order).toHaveLength(201);
    expect(order.indexOf(900)).toBeLessThan(6);
    expect(await gateway.metrics.metrics()).toMatch(/calls_in_flight 0\n[^]*calls_queued 0\n/);
  });

  it("of a batch wait only once in vain", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, { tiers, overload: { heavyParallel: 1, waitMs: 1_000 } });
    const finish = node.hold([]);
    const first = post(gateway.url, logs(1));
    await until("it is at the node", generousMs, () => finish.length === 1);
    const startedAt = performance.now();
    const { status, text } = await post(gateway.url, `[${ids(100, 640).map(logs).join(",")}]`);
    // Sixteen at a time: each of forty groups would wait for a second.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect([status, errorsIn(text).length]).toEqual([429, 640]);
    finish[0]!();
    expect((await first).status).toBe(200);
  });
});

describe("the WebSocket limits of a tier", () => {
  it("apply to messages, connections and subscriptions, separately for each tier", async () => {
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

const ids = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
const storage = (at: number) =>
  JSON.stringify({ jsonrpc: "2.0", id: at, method: "eth_getStorageAt", params: [account, numberToHex(at), "latest"] });
const batchOf = (from: number, count: number) => `[${ids(from, count).map(storage).join(",")}]`;
const postAll = (url: string, bodies: readonly string[]) => Promise.all(bodies.map((body) => post(url, body)));
const errorsIn = (text: string) =>
  (JSON.parse(text) as { error?: { code: number; message: string } }[]).flatMap(({ error }) => error ?? []);
const read = async (client: JsonRpcApiProvider, from: number, count: number) =>
  new Set(await Promise.all(ids(from, count).map((at) => client.getStorage(account, at))));

describe("calls beyond a caller's concurrency", () => {
  it("wait for the caller's other calls: parallel batches and clients with default settings lose none", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node);
    node.delay(20);
    node.respondAs(() => word);
    const bodies = [
      ...Array.from({ length: 4 }, (_, at) => batchOf(at * 20, 20)),
      batchOf(100, 100),
      batchOf(200, 100),
    ];
    for (const { status, text } of await postAll(gateway.url, bodies))
      expect([status, errorsIn(text)]).toEqual([200, []]);
    const network = Network.from(1672);
    const http = new JsonRpcProvider(gateway.url, network, { staticNetwork: network });
    expect(await read(http, 1_000, 300)).toEqual(new Set([word]));
    http.destroy();
    const socket = new WebSocketProvider(gateway.url.replace("http", "ws"), network, { staticNetwork: network });
    expect(await read(socket, 2_000, 200)).toEqual(new Set([word]));
    await socket.destroy();
    for (const batch of [false, { batchSize: 20 }]) {
      const client = createPublicClient({ transport: viemHttp(gateway.url, { batch, retryCount: 0 }) });
      const slots = ids(batch === false ? 3_000 : 4_000, 200).map((at) => numberToHex(at));
      const values = await Promise.all(slots.map((slot) => client.getStorageAt({ address: account, slot })));
      expect(new Set(values)).toEqual(new Set([word]));
    }
    const metrics = await gateway.metrics.metrics();
    expect(metrics).not.toMatch(/limited_total\{.*\} [1-9]/);
    expect(metrics).toMatch(/calls_in_flight 0\n[^]*calls_queued 0\n/);
  });
  it("wait at most as long as configured, and are then rejected with an error that clients understand", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: { ...limitlessTier, concurrency: 1 } },
      overload: { waitMs: 100, retryAfterSeconds: 2 },
    });
    const finish = node.hold();
    const error = { code: -32005, message: "rate limit exceeded: more than 1 calls at a time; try again in 2 s" };
    const first = post(gateway.url, storage(1));
    await until("it is at the node", generousMs, () => finish.length === 1);
    const [single, batch, mixed] = await postAll(gateway.url, [
      storage(2),
      batchOf(10, 900),
      `[${storage(1_000)},{"jsonrpc":"2.0","id":1001,"method":"eth_coinbase"}]`,
    ]);
    const { status, headers, text } = single!;
    expect([status, headers.get("retry-after"), text]).toEqual([
      429,
      "2",
      JSON.stringify({ jsonrpc: "2.0", id: 2, error }),
    ]);
    expect([batch!.status, batch!.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(errorsIn(batch!.text)).toEqual(Array.from({ length: 900 }, () => error));
    expect([mixed!.status, errorsIn(mixed!.text)]).toEqual([200, [error]]);
    await using client = await connectTestClient(gateway.url);
    expect(JSON.parse(await client.ask(storage(3)))).toMatchObject({ error });
    // A caller that retries after that time gets its response.
    const retrying = createPublicClient({ transport: viemHttp(gateway.url) }).getStorageAt({
      address: account,
      slot: "0x4",
    });
    const rejected = /limited_total\{limit="concurrency",tier="public"\} (\d+)/;
    await until(
      "it was rejected",
      generousMs,
      async () => (rejected.exec(await gateway.metrics.metrics())?.[1] ?? "") === "904",
    );
    node.respondAs(() => "0x1");
    finish[0]!();
    expect([(await first).status, await retrying]).toEqual([200, "0x1"]);
  });

  it("are served round-robin: the caller's other calls are served between those of a huge batch", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: { ...limitlessTier, concurrency: 4 } },
      upstream: { batchItems: 5 },
    });
    node.delay(5);
    const order: string[] = [];
    const note = async (name: string, body: string) => {
      const { text } = await post(gateway.url, body);
      order.push(name);
      return text.includes("error");
    };
    const long = note("long", batchOf(1, 600));
    await gateway.shows("gatehouse_gateway_calls_in_flight 4\n");
    const others = [note("single", storage(2_000)), note("batch", batchOf(3_000, 40)), note("single", storage(2_001))];
    expect(await Promise.all([long, ...others])).toEqual([false, false, false, false]);
    expect(order.at(-1)).toBe("long");
  });

  it("leave the queue when their clients disconnect, and the others move up", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: { ...limitlessTier, concurrency: 1 } },
      upstream: { queuedCallsPerCaller: 2 },
    });
    const finish = node.hold();
    const waiting = (count: number) => gateway.shows(`gatehouse_gateway_calls_queued ${count}\n`);
    const first = post(gateway.url, storage(1));
    await until("it is at the node", generousMs, () => finish.length === 1);
    const gone = new AbortController();
    const headers = { "Content-Type": "application/json" };
    const left = [storage(2), batchOf(10, 20)].map((body) =>
      fetch(gateway.url, { method: "POST", body, headers, signal: gone.signal }),
    );
    await waiting(2);
    expect((await post(gateway.url, storage(3))).status).toBe(429);
    gone.abort();
    await Promise.allSettled(left);
    await waiting(0);
    const later = post(gateway.url, storage(4));
    await waiting(1);
    node.respondAs(() => "0x1");
    finish[0]!();
    expect([(await first).status, (await later).status]).toEqual([200, 200]);
    expect(node.requests.map(({ id }) => id)).toEqual([1, 4]);
  });
});
