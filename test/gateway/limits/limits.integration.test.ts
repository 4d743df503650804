import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { openRaw } from "../../support/gateway/raw-call.ts";

const tier = {
  requestsPerSecond: 1,
  requestBurst: 5,
  computeUnitsPerSecond: 1_000,
  computeUnitBurst: 1_000,
  concurrency: 3,
};
const receipts = (at: number) => `{"jsonrpc":"2.0","id":${at},"method":"eth_getBlockReceipts","params":["0x${at}"]}`;
const code = (at: number) =>
  `{"jsonrpc":"2.0","id":${at},"method":"eth_call","params":[{"to":"0x${String(at).padStart(40, "0")}"},"latest"]}`;
const syncing = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';

async function startAll(settings: Record<string, object>) {
  const node = await startFakeNode();
  const gateway = await startTestGateway(node, settings);
  return {
    node,
    gateway,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

/** Ways of making a call. */
const ways: readonly ((url: string, body: string) => Promise<string>)[] = [
  async (url, body) => (await post(url, body)).text,
  async (url, body) => (await post(url, `[${body}]`)).text,
  async (url, body) => {
    await using client = await connectTestClient(url);
    return await client.ask(body);
  },
];

describe("limits", () => {
  it("charge a long response before the next call: over HTTP, in a batch and over WebSocket", async () => {
    const long = "x".repeat(200 * 1_024);
    const given = { tiers: { public: { ...tier, requestBurst: 100, computeUnitsPerSecond: 1 } } };
    for (const ask of ways) {
      await using running = await startAll(given);
      running.node.respondAs(({ method }) => (method === "eth_getBlockReceipts" ? long : false));
      let responses = 0;
      while (responses < 100 && (await ask(running.gateway.url, receipts(responses + 1))).includes("xxx"))
        responses += 1;
      // Each costs 40 units, plus 184 for the KiB beyond the first 16; the fifth uses up the 1,000 units.
      expect(responses).toBe(5);
      expect((await post(running.gateway.url, syncing)).status).toBe(429);
    }
  });

  it("charge the node time of a call without gas before the next call: over HTTP, in a batch and over WebSocket", async () => {
    const given = { tiers: { public: { ...tier, requestBurst: 100, computeUnitsPerSecond: 1 } } };
    for (const ask of ways) {
      await using running = await startAll(given);
      running.node.delay(400);
      let responses = 0;
      while (responses < 100 && (await ask(running.gateway.url, code(responses + 1))).includes('"0x1"')) responses += 1;
      // Each call costs at least 400 units, 26 of them in advance; the third uses up the 1,000 units.
      expect(responses).toBeGreaterThan(0);
      expect(responses).toBeLessThan(4);
      expect((await post(running.gateway.url, syncing)).status).toBe(429);
    }
  });

  it("count invalid calls, single or in a batch, and oversized batches", async () => {
    await using running = await startAll({ tiers: { public: tier }, limits: { batchItems: 3 } });
    const { url } = running.gateway;
    expect((await post(url, "[1,{},[]]")).text).not.toContain("-32005");
    expect((await post(url, "[1,1,1,1]")).text).toContain("batch too large");
    expect((await post(url, "{")).text).toContain("parse error");
    expect((await post(url, "{}")).status).toBe(429);
  });

  it("cap a caller's concurrent calls, and release those of disconnected clients", async () => {
    await using running = await startAll({
      tiers: { public: { ...tier, requestsPerSecond: 1_000, requestBurst: 10_000 } },
      overload: { waitMs: 50 },
    });
    const { node, gateway } = running;
    node.respondAs(() => responseWritten);
    const abort = new AbortController();
    const stuck = Array.from({ length: 3 }, () =>
      fetch(gateway.url, {
        method: "POST",
        body: syncing,
        headers: { "Content-Type": "application/json" },
        signal: abort.signal,
      }),
    );
    await until("three calls are at the node", generousMs, () => node.requests.length === 3);
    expect((await post(gateway.url, syncing)).status).toBe(429);
    abort.abort();
    await Promise.allSettled(stuck);
    await gateway.shows("calls_in_flight 0");
    node.respondAs(() => false);
    for (let round = 0; round < 200; round += 1) expect((await post(gateway.url, syncing)).status).toBe(200);
  });

  it("release node connections when many clients disconnect during large responses, repeatedly", async () => {
    await using running = await startAll({
      tiers: { public: { ...limitlessTier, concurrency: 500 } },
      upstream: { connections: 8 },
    });
    const { node, gateway } = running;
    node.respondAs(() => "z".repeat(8_000_000));
    const headers = { "Content-Type": "application/json" };
    for (let wave = 0; wave < 3; wave += 1) {
      const readers = Array.from({ length: 16 }, async () => {
        const abort = new AbortController();
        const response = await fetch(gateway.url, { method: "POST", body: syncing, headers, signal: abort.signal });
        await response.body?.getReader().read();
        abort.abort();
      });
      await Promise.allSettled(readers);
    }
    await gateway.shows("calls_in_flight 0");
    node.respondAs(() => false);
    expect((await post(gateway.url, syncing)).text).toBe('{"jsonrpc":"2.0","id":1,"result":false}');
  });
});

describe("a long range split into chunks", () => {
  const roomy = { ...tier, requestBurst: 1e6, computeUnitBurst: 1e6, splitBlocks: 1_000, concurrency: 50 };
  const logs = '{"jsonrpc":"2.0","id":"own","method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"0x3e7"}]}';

  it("is one streamed response over HTTP, in order, and the same over WebSocket", async () => {
    await using running = await startAll({ tiers: { public: roomy } });
    running.node.respondAs(({ params }) => [
      { from: (params[0] as { fromBlock: string }).fromBlock, data: "d".repeat(50_000) },
    ]);
    const expected = Array.from({ length: 10 }, (_, at) => `0x${(at * 100).toString(16)}`);
    const response = await post(running.gateway.url, logs);
    expect(response.headers.get("content-length")).toBeNull();
    await using client = await connectTestClient(running.gateway.url);
    for (const text of [response.text, await client.ask(logs)]) {
      const { id, result } = JSON.parse(text) as { id: string; result: { from: string }[] };
      expect([id, result.map(({ from }) => from)]).toEqual(["own", expected]);
    }
  });

  it("is aborted beyond its size limit, or is an error if no data was sent", async () => {
    await using running = await startAll({ tiers: { public: roomy }, limits: { batchResponseBytes: 300_000 } });
    running.node.respondAs(() => ["d".repeat(50_000)]);
    await expect(post(running.gateway.url, logs)).rejects.toThrow("terminated");
    running.node.respondAs(() => ["d".repeat(400_000)]);
    const whole = await post(running.gateway.url, logs.replace("0x0", "0x1").replace("0x3e7", "0xc8"));
    expect(whole.text).toBe('{"jsonrpc":"2.0","id":"own","error":{"code":-32003,"message":"response too large"}}');
    await running.gateway.shows("in_flight 0");
  });
});

describe("attacks", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ listener: { requestTimeoutMs: 600 } }, (started) => void ({ node, gateway } = started), "all");
  const raw = async (text: string, waitMs = 3_000) => {
    const { socket, received } = openRaw(gateway.url, text);
    const late = setTimeout(() => socket.destroy(), waitMs);
    await once(socket, "close");
    clearTimeout(late);
    return received();
  };
  const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";

  it.each([
    ["two lengths", `${head}Content-Length: 4\r\nContent-Length: 5\r\n\r\nnull`],
    ["both length and chunks", `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a space before the colon", `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    [
      "bare line feeds in the head",
      `POST / HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 4\n\nnull`,
    ],
    ["an unknown coding", `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ["a bad chunk size", `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ])("rejects smuggling by %s with 400", async (_, text) => {
    const requestsBefore = node.requests.length;
    expect(await raw(text)).toMatch(/^HTTP\/1\.1 400 /);
    expect(node.requests.length).toBe(requestsBefore);
  });

  it("closes slow heads and slow bodies, even if bytes keep arriving", async () => {
    for (const start of ["POST / HTTP/1.1\r\nHost:", `${head}Content-Length: 100000\r\n\r\n{`]) {
      expect(await raw(start, 30_000)).toMatch(/^(HTTP\/1\.1 408 |$)/);
      const { socket } = openRaw(gateway.url, start);
      const drip = setInterval(() => socket.write(" "), 20);
      // Not `once` of node:events: it would reject if bytes in flight cause a reset.
      await new Promise((resolve) => socket.once("close", resolve));
      clearInterval(drip);
    }
    expect((await post(gateway.url, '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}')).status).toBe(200);
  });

  it("opens WebSockets at one path only", async () => {
    for (const path of ["/..", "//", "/%2e", "/internal", "/private?x", "/ws"]) {
      const response = await raw(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
      );
      expect([path, response.slice(0, 12)]).toEqual([path, "HTTP/1.1 404"]);
    }
  });

  it("limits the gas of a call to the setting, in any format", async () => {
    await using running = await startAll({ limits: { callGas: 30_000_000 } });
    const { url } = running.gateway;
    await using client = await connectTestClient(url);
    const to = `0x${"ab".repeat(20)}`;
    const body = (id: number, method: string, gas: string, more: readonly unknown[] = []) =>
      JSON.stringify({ jsonrpc: "2.0", id, method, params: [{ to, gas }, "latest", ...more] });
    const methods = ["eth_call", "eth_estimateGas", "eth_createAccessList", "debug_traceCall"];
    const calls = methods.map((method, id) => body(id, method, "0xffffffff"));
    await post(url, `[${[...calls, body(9, "eth_call", "0x10")].join(",")}]`);
    for (const text of calls) await post(url, text.replace("latest", "0x1"));
    for (const text of calls) await client.ask(text.replace("latest", "0x2"));
    const asked = running.node.requests.map(({ method, params: [given] }) => [method, (given as { gas: string }).gas]);
    const cappedMethods = methods.map((method) => [method, "0x1c9c380"]);
    expect(asked.slice(0, 5)).toEqual(expect.arrayContaining([...cappedMethods, ["eth_call", "0x10"]]));
    expect(asked.slice(5)).toEqual([...cappedMethods, ...cappedMethods]);
  });

  it("charges a call for the gas it specifies, and treats a high amount as heavy", async () => {
    const rates = { requestsPerSecond: 1e6, requestBurst: 1e6, computeUnitsPerSecond: 0.001, computeUnitBurst: 245 };
    await using running = await startAll({
      tiers: { public: { ...rates, concurrency: 10 } },
      overload: { heavyParallel: 1, waitMs: 50 },
      // The call stays at the node for as long as the test needs.
      rateLimit: { unitsPerNodeMs: 0 },
    });
    const { url } = running.gateway;
    const to = `0x${"ab".repeat(20)}`;
    const body = (gas?: string, method = "eth_call") =>
      JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [{ to, gas }, "latest"] });
    const held = running.node.hold("0x");
    // 100 units for the specified gas; 26 and 40 for methods with less gas or none.
    const heavy = post(url, body("0x2faf080"));
    await until("it is at the node", generousMs, () => held.length === 1);
    expect((await post(url, body("0xffffffff"))).text).toContain("too much load");
    running.node.respondAs(() => "0x");
    held[0]!();
    expect((await heavy).status).toBe(200);
    const later = [body("0xc65d40"), body(undefined, "eth_estimateGas"), body()];
    const statuses: number[] = [];
    for (const text of later) statuses.push((await post(url, text)).status);
    expect(statuses).toEqual([200, 429, 429]);
  });
});
