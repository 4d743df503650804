import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths } from "#gateway/testing/use-gateway.ts";
import type { NodeFitness } from "#gateway/chain/chain-head.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const behind = { code: -32603, message: "the node is behind the chain's head; try again later" };
const down = { code: -32603, message: "the node is not responding; try again later" };
const anotherChain = { code: -32603, message: "the node is on another chain than this endpoint; try again later" };
const chainUnknown = { code: -32603, message: "the node has not reported its chain yet; try again later" };
const request = (id: number, method: string, params: readonly unknown[] = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const hash = `0x${"ab".repeat(32)}`;

describe.each(bothPaths)("an unfit node, over %s", (_, fastPath) => {
  let node: FakeNode;
  let fitness: NodeFitness;
  beforeEach(async () => {
    node = await startFakeNode();
    node.respondAs(({ method }) => method);
    fitness = "fit";
  });
  afterEach(() => node[Symbol.asyncDispose]());
  const start = (given: Record<string, object | string> = {}) =>
    startTestGateway({ ...node, fitness: () => fitness }, { listener: { fastPath }, ...given });

  it("gets no reads while it is behind; immutable results still come from the cache", async () => {
    await using gateway = await start();
    for (const method of ["eth_chainId", "eth_blockNumber"]) await call(gateway.url, method);
    await call(gateway.url, "eth_getBlockByHash", [hash, false]);
    fitness = "behind";
    const requestsBefore = node.requests.length;
    expect((await call(gateway.url, "eth_chainId")).result).toBe("eth_chainId");
    expect((await call(gateway.url, "eth_getBlockByHash", [hash, false])).result).toBe("eth_getBlockByHash");
    expect((await call(gateway.url, "eth_coinbase")).result).toBe("0x0");
    expect(node.requests.length).toBe(requestsBefore);
    for (const [method, params] of [
      ["eth_blockNumber", []],
      ["eth_call", [{ to: null }, "latest"]],
      ["eth_getLogs", [{}]],
    ] as const) {
      const response = await post(gateway.url, request(1, method, params));
      expect([response.status, response.text]).toEqual([200, JSON.stringify({ jsonrpc: "2.0", id: 1, error: behind })]);
      expect(response.headers.get("x-gatehouse-source")).toBe("gateway");
    }
    expect(node.requests.length).toBe(requestsBefore);
    fitness = "fit";
    expect((await call(gateway.url, "eth_blockNumber")).result).toBe("eth_blockNumber");
    expect(await gateway.metrics.metrics()).toContain(
      'gatehouse_gateway_call_duration_seconds_count{method="eth_call",tier="public",outcome="failed"} 1',
    );
  });

  it("gets transactions, and queries about itself, while it is behind", async () => {
    await using gateway = await start();
    fitness = "behind";
    for (const method of ["eth_syncing", "eth_chainId", "net_version", "web3_clientVersion"]) {
      expect((await call(gateway.url, method)).result).toBe(method);
    }
    expect((await call(gateway.url, "eth_sendRawTransaction", ["0x02"])).result).toBe("eth_sendRawTransaction");
  });

  it("is reported over WebSocket and in each call of a batch", async () => {
    await using gateway = await start();
    await using client = await connectTestClient(gateway.url);
    fitness = "behind";
    expect(JSON.parse(await client.ask(request(1, "eth_gasPrice")))).toEqual({ jsonrpc: "2.0", id: 1, error: behind });
    const batch = `[${request(1, "eth_gasPrice")},${request(2, "eth_syncing")}]`;
    const expected = [
      { jsonrpc: "2.0", id: 1, error: behind },
      { jsonrpc: "2.0", id: 2, result: "eth_syncing" },
    ];
    expect(JSON.parse(await client.ask(batch))).toEqual(expected);
    expect(JSON.parse((await post(gateway.url, batch)).text)).toEqual(expected);
  });

  it("gets no requests while it is down, even if it accepts connections without responding", async () => {
    await using gateway = await start();
    await call(gateway.url, "eth_chainId");
    fitness = "down";
    const requestsBefore = node.requests.length;
    for (const method of ["eth_blockNumber", "eth_syncing", "eth_sendRawTransaction"]) {
      expect((await call(gateway.url, method)).error).toEqual(down);
    }
    expect((await call(gateway.url, "eth_chainId")).result).toBe("eth_chainId");
    expect(node.requests.length).toBe(requestsBefore);
  });

  it.each([
    ["is on a different chain", "anotherChain", anotherChain],
    ["has not reported its chain yet", "chainUnknown", chainUnknown],
  ] as const)(
    "gets no requests or transactions while it %s, and no call is answered from the cache",
    async (_now, unfit, error) => {
      await using gateway = await start();
      await using client = await connectTestClient(gateway.url);
      await call(gateway.url, "eth_chainId");
      fitness = unfit;
      const requestsBefore = node.requests.length;
      for (const method of ["eth_blockNumber", "eth_chainId", "eth_syncing", "eth_sendRawTransaction"]) {
        expect((await call(gateway.url, method)).error).toEqual(error);
      }
      const subscribe = await client.ask(request(1, "eth_subscribe", ["newHeads"]));
      expect(JSON.parse(subscribe)).toEqual({ jsonrpc: "2.0", id: 1, error });
      expect(node.requests.length).toBe(requestsBefore);
      fitness = "fit";
      expect((await call(gateway.url, "eth_chainId")).result).toBe("eth_chainId");
    },
  );

  it("gets reads while it is behind once the settings allow it", async () => {
    const folder = await makeTestDirectory();
    const path = join(folder, "policy.json5");
    await writeFile(path, "{}");
    await using gateway = await start({ policyPath: path });
    fitness = "behind";
    expect((await call(gateway.url, "eth_gasPrice")).error).toEqual(behind);
    await writeFile(path, '{ behind: { reads: "serve" } }');
    await until(
      "reads are served",
      generousMs,
      async () => (await call(gateway.url, "eth_gasPrice")).result === "eth_gasPrice",
    );
    fitness = "down";
    expect((await call(gateway.url, "eth_blockNumber")).error).toEqual(down);
  });
});
