import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { responseWritten, startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

it("a settings change fails none of 1,000 calls in flight, and applies to later calls", async () => {
  const folder = await makeTestDirectory();
  const path = join(folder, "policy.json5");
  await writeFile(path, JSON.stringify({ tiers: { public: limitlessTier } }));
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, { policyPath: path });
  const finish = node.hold("late");
  const underWay = Array.from({ length: 1_000 }, () => call(gateway.url, "eth_syncing"));
  await gateway.shows("gatehouse_gateway_calls_in_flight 1000");
  const strict = { ...limitlessTier, concurrency: 1, methods: ["eth_coinbase"] };
  await writeFile(path, JSON.stringify({ tiers: { public: strict }, overload: { callsInFlight: 1 } }));
  await until(
    "the change is active",
    generousMs,
    async () => (await call(gateway.url, "eth_mining")).error?.code === -32601,
  );
  const pump = setInterval(() => finish.splice(0).forEach((end) => end()), 1);
  const responses = await Promise.all(underWay);
  clearInterval(pump);
  expect(responses.filter(({ result }) => result !== "late")).toEqual([]);
  expect(await gateway.metrics.metrics()).toContain("gatehouse_gateway_calls_in_flight 0");
});

const body = (method: string, params: readonly unknown[] = []) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** Each limit, with its value in the file and a check that it applies; the check fails before the change. */
type Change = Readonly<{ content: object; holds: (url: string) => Promise<boolean> }>;

const textOf = async (url: string, text: string) => (await post(url, text)).text;
const rejected = (text: string, limit: string) => text.includes(limit);

const changes: Readonly<Record<string, Change>> = {
  "requests per second": {
    content: { tiers: { public: { ...limitlessTier, requestsPerSecond: 0.001, requestBurst: 1 } } },
    holds: async (url) => (await post(url, body("eth_coinbase"))).status === 429,
  },
  "compute units per second": {
    content: { tiers: { public: { ...limitlessTier, computeUnitsPerSecond: 0.001, computeUnitBurst: 1 } } },
    holds: async (url) => (await post(url, body("eth_coinbase"))).status === 429,
  },
  "the cost of a method": {
    content: {
      tiers: { public: { ...limitlessTier, computeUnitsPerSecond: 1, computeUnitBurst: 1_000 } },
      methods: { eth_coinbase: { costUnits: 900 } },
    },
    holds: async (url) => (await post(url, body("eth_coinbase"))).status === 429,
  },
  "the audience of a method": {
    content: { methods: { eth_coinbase: { audience: "internal" } } },
    holds: async (url) => (await call(url, "eth_coinbase")).error?.code === -32_601,
  },
  "an added method": {
    content: { methods: { my_own: { audience: "public" } } },
    holds: async (url) => (await call(url, "my_own")).error === undefined,
  },
  "the log range without rate limits": {
    content: { rateLimit: { enabled: false } },
    holds: async (url) => {
      const logs = body("eth_getLogs", [{ fromBlock: "0x0", toBlock: "0x2710" }]);
      return rejected(await textOf(url, logs), "10001 blocks requested, limited to 10000 blocks");
    },
  },
  "the timeout of a method": {
    content: { methods: { eth_getProof: { timeoutMs: 50 } } },
    holds: async (url) => rejected(await textOf(url, body("eth_getProof")), "request timed out"),
  },
  "the caching of a method": {
    content: { methods: { eth_chainId: { cache: false } } },
    holds: async (url) => (await post(url, body("eth_chainId"))).headers.get("x-gatehouse-source") === "node",
  },
  "the body size": {
    content: { limits: { bodyBytes: 100 } },
    holds: async (url) => (await post(url, body("eth_coinbase", ["x".repeat(100)]))).status === 413,
  },
  "the batch size": {
    content: { limits: { batchItems: 1 } },
    holds: async (url) => rejected(await textOf(url, "[1,2]"), "batch too large"),
  },
  "the response size": {
    content: { limits: { responseBytes: 100 } },
    holds: async (url) => rejected(await textOf(url, body("eth_syncing", ["long"])), "response too large"),
  },
  "the log range": {
    content: { ranges: { logsBlocks: 3 } },
    holds: async (url) => {
      const { error } = await call(url, "eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x5" }]);
      return error?.code === -32_602 && error.message.includes("limited to 3 blocks");
    },
  },
  "the log range of a tier": {
    content: { tiers: { public: { ...limitlessTier, logsBlocks: 4 } } },
    holds: async (url) =>
      rejected(await textOf(url, body("eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x5" }])), "limited to 4 blocks"),
  },
  "the trace range of a tier": {
    content: { tiers: { public: { ...limitlessTier, traceBlocks: 2 } } },
    holds: async (url) =>
      rejected(await textOf(url, body("trace_filter", [{ fromBlock: "0x1", toBlock: "0x5" }])), "limited to 2 blocks"),
  },
  "heavy calls": {
    content: { overload: { heavyParallel: 1, callsInFlight: 1 } },
    holds: async (url) => {
      const stuck = post(url, body("eth_getProof"));
      const { status } = await post(url, body("debug_traceTransaction", [`0x${randomBytes(32).toString("hex")}`]));
      await stuck;
      return status === 429;
    },
  },
  "WebSockets of a client": {
    content: { tiers: { public: { ...limitlessTier, webSockets: 0 } } },
    holds: (url) => connectTestClient(url).then(closed, (error: Error) => error.message.includes("429")),
  },
  "subscriptions of a client": {
    content: { tiers: { public: { ...limitlessTier, subscriptions: 0 } } },
    holds: async (url) => {
      await using client = await connectTestClient(url);
      return rejected(await client.ask(body("eth_subscribe", ["newHeads"])), "-32005");
    },
  },
  "a message's bytes": {
    content: { tiers: { public: { ...limitlessTier, messageBytes: 100 } } },
    holds: async (url) => {
      await using client = await connectTestClient(url);
      client.socket.send(body("eth_coinbase", ["x".repeat(200)]));
      await until(
        "it has a response or closed",
        generousMs,
        () => client.texts.length > 0 || client.socket.readyState === 3,
      );
      return client.texts.length === 0 && (await client.closed)[0] === 1009;
    },
  },
};

async function closed(client: AsyncDisposable): Promise<false> {
  await client[Symbol.asyncDispose]();
  return false;
}

describe("a settings change applies at once to", () => {
  it.each(Object.keys(changes))("%s", async (name) => {
    const { content, holds } = changes[name]!;
    const folder = await makeTestDirectory();
    const path = join(folder, "policy.json5");
    const others = { tiers: { public: limitlessTier }, methods: { eth_getProof: { timeoutMs: 500 } } };
    await writeFile(path, JSON.stringify(others));
    await using node = await startFakeNode();
    node.respondAs(({ method }) => (method === "eth_getProof" ? responseWritten : "z".repeat(200)));
    await using gateway = await startTestGateway(node, { policyPath: path });
    await call(gateway.url, "eth_chainId");
    expect(await holds(gateway.url)).toBe(name === "the timeout of a method");
    await writeFile(path, JSON.stringify({ ...others, ...content }));
    await until("it holds", generousMs, () => holds(gateway.url));
  });
});
