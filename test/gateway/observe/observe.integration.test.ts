import { metricsByPart } from "../../observability/metric-catalogue.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createLog } from "#daemon/log/log.ts";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";

const body = (method: string, params: unknown = []) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const tier = { ...limitlessTier, concurrency: 100 };

/** The value of a line in a gateway's metrics; undefined if there is none. */
async function valueOf({ metrics }: TestGateway, name: string, labels: Record<string, string> = {}) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const lines = (await metrics.metrics()).split("\n");
  const found = lines.find(
    (line) => /^\w+/.exec(line)?.[0] === name && wanted.every((label) => line.includes(label)) && !line.startsWith("#"),
  );
  return found === undefined ? undefined : Number(found.split(" ").at(-1));
}

describe("the gateway's metrics", () => {
  let node: FakeNode;
  beforeAll(async () => {
    node = await startFakeNode();
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it("show the source of reads, by method", async () => {
    await using gateway = await startTestGateway(node, { tiers: { public: tier } });
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    const finish = node.hold();
    const together = [call(gateway.url, "eth_gasPrice"), call(gateway.url, "eth_gasPrice")];
    await until(
      "both wait",
      generousMs,
      async () => (await valueOf(gateway, "gatehouse_gateway_calls_in_flight")) === 2,
    );
    await until("the node was queried", generousMs, () => finish.length === 1);
    finish[0]?.();
    await Promise.all(together);
    await call(gateway.url, "eth_gasPrice");
    for (const source of ["node", "coalesced", "cache"]) {
      expect(await valueOf(gateway, "gatehouse_gateway_reads_total", { method: "eth_gasPrice", source })).toBe(1);
    }
    // This metric counts only requests to the node.
    expect(await valueOf(gateway, "gatehouse_gateway_node_duration_seconds_count", { method: "eth_gasPrice" })).toBe(1);
  });

  it("show the node's share of a call's duration separately", async () => {
    await using gateway = await startTestGateway(node, {
      tiers: { public: { ...tier, splitBlocks: 1_000 } },
      limits: { batchParallel: 1 },
      upstream: { batchItems: 1 },
    });
    const waitMs = 60;
    node.respondAs(() => "0x1");
    node.delay(waitMs);
    // The calls are sent one after another: the third has waited for two others before it reaches the node.
    await post(gateway.url, `[${["a", "b", "c"].map((one) => body("eth_syncing", [one])).join(",")}]`);
    node.delay(0);
    const whole = await valueOf(gateway, "gatehouse_gateway_call_duration_seconds_sum", { method: "eth_syncing" });
    const node_ = await valueOf(gateway, "gatehouse_gateway_node_duration_seconds_sum", { method: "eth_syncing" });
    expect(node_).toBeGreaterThan((3 * (waitMs - 5)) / 1_000);
    expect(whole! - node_!).toBeGreaterThan((2 * (waitMs - 5)) / 1_000);
  });

  it("count rejections by limit and tier", async () => {
    const small = { ...tier, concurrency: 1, webSockets: 1, subscriptions: 1 };
    await using gateway = await startTestGateway(node, {
      tiers: { public: small, internal: { ...small, requestsPerSecond: 0.001, requestBurst: 1 } },
      internal: { enabled: true },
      limits: { batchItems: 2 },
      overload: { heavyParallel: 1, heavyCostUnits: 1_000 },
      methods: { eth_syncing: { costUnits: 2_000 } },
    });
    const limited = (limit: string, of = "public") =>
      valueOf(gateway, "gatehouse_gateway_limited_total", { limit, tier: of });
    node.respondAs(() => "0x1");
    await call(gateway.url, "eth_getLogs", [{ fromBlock: "0x0", toBlock: "0xffff" }]);
    await call(gateway.url, "debug_traceTransaction", [`0x${"1".repeat(64)}`, { tracer: "{step: function() {}}" }]);
    await post(gateway.url, "[1,2,3]");
    for (let asked = 0; asked < 2; asked += 1) await call(gateway.urls["internal"]!, "eth_coinbase");
    node.respondAs(() => responseWritten);
    const stuck = new AbortController();
    const pendingResponse = fetch(gateway.url, {
      method: "POST",
      body: body("eth_gasPrice"),
      headers: { "Content-Type": "application/json" },
      signal: stuck.signal,
    });
    await until(
      "a call is under way",
      generousMs,
      async () => (await valueOf(gateway, "gatehouse_gateway_calls_in_flight")) === 1,
    );
    expect((await post(gateway.url, body("eth_maxPriorityFeePerGas"))).status).toBe(429);
    stuck.abort();
    await pendingResponse.catch(() => undefined);
    await until(
      "it is disconnected",
      generousMs,
      async () => (await valueOf(gateway, "gatehouse_gateway_calls_in_flight")) === 0,
    );
    await using client = await connectTestClient(gateway.url);
    await expect(connectTestClient(gateway.url)).rejects.toThrow("429");
    await client.ask(body("eth_subscribe", ["newHeads"]));
    await client.ask(body("eth_subscribe", ["newHeads"]));
    for (const limit of ["blockRange", "tracer", "batch", "concurrency", "webSockets", "subscriptions"]) {
      expect([limit, await limited(limit)]).toEqual([limit, 1]);
    }
    expect(await limited("rate", "internal")).toBe(1);
  });

  it("include exactly the catalogue from which docs/metrics.md is generated", async () => {
    await using gateway = await startTestGateway(node);
    const shown = [...(await gateway.metrics.metrics()).matchAll(/^# TYPE (gatehouse_gateway_\w+)/gm)];
    expect(shown.map(([, name]) => name).sort()).toEqual(Object.keys(metricsByPart.gateway).sort());
  });
});

/** Starts a gateway whose log is recorded. */
async function withLog(settings: Record<string, object | string>) {
  const lines: string[] = [];
  const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
  const node = await startFakeNode();
  const gateway = await startTestGateway(node, settings, log);
  const entries = (message: string) =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line["message"] === message);
  return {
    node,
    gateway,
    lines,
    entries,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

describe("the gateway's log", () => {
  it("contains calls with their request id and without params", async () => {
    await using running = await withLog({ accessLog: { sampleRatio: 1 } });
    const { url } = running.gateway;
    await post(url, body("eth_getBalance", ["0xsecret-address", "latest"]), { "X-Request-Id": "client-7" });
    await post(url, body("eth_secretName"), { "X-Request-Id": 'bad id"}' });
    expect(running.entries("call")).toMatchObject([
      {
        "log.level": "info",
        "http.request.id": "client-7",
        gatehouse: { method: "eth_getBalance", tier: "public", outcome: "node" },
      },
      {
        "http.request.id": expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        gatehouse: { method: "unknown", outcome: "rejected" },
      },
    ]);
    expect(running.lines.join("")).not.toMatch(/secret|bad id/);
  });

  it("contains only a sample of the calls, and none by default", async () => {
    await using some = await withLog({ accessLog: { sampleRatio: 0.5 }, rateLimit: { enabled: false } });
    await using none = await withLog({ rateLimit: { enabled: false } });
    const batch = `[${Array.from({ length: 1_000 }, () => body("eth_coinbase")).join(",")}]`;
    for (const { gateway } of [some, none]) await post(gateway.url, batch);
    expect(some.entries("call").length).toBeGreaterThan(350);
    expect(some.entries("call").length).toBeLessThan(650);
    expect(none.entries("call")).toEqual([]);
  });

  it("starts access logging when the policy file changes, without a restart", async () => {
    const folder = await makeTestDirectory();
    const policyPath = join(folder, "policy.json5");
    await writeFile(policyPath, "{}");
    await using running = await withLog({ policyPath });
    const { url } = running.gateway;
    await post(url, body("eth_coinbase"));
    expect(running.entries("call")).toEqual([]);
    await writeFile(policyPath, "{ accessLog: { sampleRatio: 1 } }");
    await until("a call is logged", generousMs, async () => {
      await post(url, body("eth_coinbase"));
      return running.entries("call").length > 0;
    });
  });

  it("contains slow calls at any sample ratio", async () => {
    await using running = await withLog({ accessLog: { slowMs: 50 } });
    running.node.delay(100);
    await call(running.gateway.url, "eth_call", [{ data: "0xsecret" }, "latest"]);
    await call(running.gateway.url, "eth_coinbase");
    expect(running.entries("slow call")).toMatchObject([
      { "log.level": "warn", gatehouse: { method: "eth_call", outcome: "node" } },
    ]);
    expect(running.lines.join("")).not.toContain("secret");
  });

  it("contains only some of thousands of slow calls, to protect the disk", async () => {
    await using running = await withLog({ accessLog: { slowMs: 1 }, rateLimit: { enabled: false } });
    running.node.delay(20);
    const batch = `[${Array.from({ length: 500 }, () => body("eth_gasPrice")).join(",")}]`;
    await Promise.all(Array.from({ length: 4 }, () => post(running.gateway.url, batch)));
    expect(running.entries("slow call")).toHaveLength(20);
  });
});
