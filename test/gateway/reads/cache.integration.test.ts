import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const body = (id: unknown, method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe("cached reads", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({}, (started) => {
    ({ node, gateway } = started);
    return until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
  });
  const batchSource = async (calls: readonly string[]) =>
    (await post(gateway.url, `[${calls.join(",")}]`)).headers.get("x-gatehouse-source");
  const read = async (id: unknown, method: string, params?: unknown) => {
    const { text, headers } = await post(gateway.url, body(id, method, params));
    return { source: headers.get("x-gatehouse-source"), text };
  };

  it("come from the cache until the head changes, even if it changes to an earlier block", async () => {
    let price = 1;
    node.respondAs(() => `0x${price++}`);
    expect(await read(1, "eth_gasPrice")).toMatchObject({ source: "node" });
    expect(await read("b", "eth_gasPrice")).toEqual({
      source: "cache",
      text: '{"jsonrpc":"2.0","id":"b","result":"0x1"}',
    });
    for (const [number, result] of [
      [1_001, "0x2"],
      [1_000, "0x3"],
    ] as const) {
      node.newHead(number);
      await until("the new head is in effect", generousMs, async () =>
        (await read(1, "eth_gasPrice")).text.includes(result),
      );
    }
  });

  it("expire with the head if a block number is padded with zeros to the length of a hash", async () => {
    const padded = `0x${(1_000).toString(16).padStart(64, "0")}`;
    const ask = () => read(1, "eth_getBlockByNumber", [padded, false]);
    await ask();
    const replaced = `0x${"9".repeat(64)}`;
    node.newHead(1_000, replaced);
    await until("the response is about the block that replaced it", generousMs, async () =>
      (await ask()).text.includes(replaced),
    );
  });

  it("never include errors, null results or pending data", async () => {
    for (const [result, method, params] of [
      [null, "eth_getTransactionReceipt", [`0x${"1".repeat(64)}`]],
      [[], "eth_getBlockReceipts", ["latest"]],
      ["0x", "eth_getCode", [`0x${"1".repeat(40)}`, "latest"]],
      ["0x5", "eth_getTransactionCount", [`0x${"1".repeat(40)}`, "pending"]],
      ["0x5", "eth_getTransactionCount", [`0x${"1".repeat(40)}`, { blockNumber: "pending" }]],
    ] as const) {
      node.respondAs(() => result);
      const requestsBefore = node.requests.length;
      await read(1, method, params);
      expect((await read(1, method, params)).source).toBe("node");
      expect(node.requests.length).toBe(requestsBefore + 2);
    }
    node.respondAs(() => "0x5");
    const written = `["0x${"1".repeat(40)}",{"blockNumber":"\\u0070ending"}]`;
    const call = `{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":${written}}`;
    for (let asked = 0; asked < 2; asked += 1) {
      expect((await post(gateway.url, call)).headers.get("x-gatehouse-source")).toBe("node");
    }
  });

  it("are requested again after an error, whether or not the node sent it", async () => {
    node.respondAs(({ id }, response) => {
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32000,"message":"header not found"}}`);
      return responseWritten;
    });
    for (const method of ["eth_gasPrice", "eth_chainId"]) {
      const requestsBefore = node.requests.length;
      for (let asked = 0; asked < 2; asked += 1) expect((await read(1, method)).text).toContain("header not found");
      expect(node.requests.length).toBe(requestsBefore + 2);
      node.respondAs((_, response) => {
        response.statusCode = 503;
        response.end("busy");
        return responseWritten;
      });
      expect((await read(1, method)).text).toContain("the node is not responding");
      node.respondAs(() => "0x5");
      expect(await read(1, method)).toMatchObject({ source: "node", text: expect.stringContaining("0x5") as string });
      node.respondAs(({ id }, response) => {
        response.end(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32000,"message":"header not found"}}`,
        );
        return responseWritten;
      });
    }
  });

  it("set the source header of a batch to their common source, or to mixed", async () => {
    node.respondAs(() => "0x1");
    const chainId = body(1, "eth_chainId");
    const price = body(2, "eth_gasPrice");
    const coinbase = body(3, "eth_coinbase");
    for (const [calls, source] of [
      [[chainId, price], "node"],
      [[chainId, price, chainId], "cache"],
      [[chainId, body(4, "eth_syncing")], "mixed"],
      [[coinbase, "7"], "gateway"],
      [['{"jsonrpc":"2.0","method":"eth_syncing"}'], "gateway"],
    ] as const)
      expect([calls, await batchSource(calls)]).toEqual([calls, source]);
    node.respondAs(() => "z".repeat(50_000));
    const long = body(5, "eth_getCode", [`0x${"1".repeat(40)}`, "latest"]);
    expect(await batchSource([long])).toBe("node");
    // The response begins before all of its parts have arrived from the node.
    expect(await batchSource(Array.from({ length: 5 }, () => long))).toBe("mixed");
  });

  it("share one call to the node while identical ones are in flight, each with its own id", async () => {
    const finish = node.hold("0xaa");
    const requestsBefore = node.requests.length;
    const reads = Array.from({ length: 20 }, (_, id) => read(`r${id}`, "eth_call", [{ to: null }, "latest"]));
    await until("the call is at the node", generousMs, () => node.requests.length > requestsBefore);
    await gateway.shows("calls_in_flight 20");
    finish[0]?.();
    const responses = await Promise.all(reads);
    expect(node.requests.length).toBe(requestsBefore + 1);
    responses.forEach(({ text }, id) => expect(text).toBe(`{"jsonrpc":"2.0","id":"r${id}","result":"0xaa"}`));
    expect(responses.filter(({ source }) => source === "coalesced")).toHaveLength(19);
    expect(await gateway.metrics.metrics()).toContain("calls_in_flight 0");
  });

  it("reach every client complete if they are too large to share", async () => {
    const size = 12_000_000;
    const finish = node.hold("z".repeat(size));
    const reads = Array.from({ length: 3 }, (_, id) => read(id, "eth_call", [{ to: null }, "latest"]));
    await gateway.shows("calls_in_flight 3");
    await until("the call is at the node", generousMs, () => finish.length === 1);
    node.respondAs(() => "z".repeat(size));
    finish[0]?.();
    for (const { text } of await Promise.all(reads)) expect(text.length).toBeGreaterThan(size);
    expect(await gateway.metrics.metrics()).toContain("calls_in_flight 0");
  });

  it("are dropped when the node connection is lost", async () => {
    node.respondAs(() => "0x1");
    await read(1, "eth_chainId");
    expect((await read(1, "eth_chainId")).source).toBe("cache");
    node.cutLink();
    await gateway.shows("cache_entries 0");
    expect((await read(1, "eth_chainId")).source).toBe("node");
  });

  it("are not cached if the node connection was lost while they were in flight", async () => {
    const finish = node.hold();
    const early = read(1, "eth_chainId");
    await until("the call is at the node", generousMs, () => finish.length === 1);
    node.cutLink();
    await until("the connection is lost", generousMs, () => node.subscriptions() === 0);
    await until("the connection is restored", generousMs, () => node.subscriptions() === 1);
    finish[0]?.();
    expect((await early).text).toContain("0x1");
    node.respondAs(() => "0x2");
    expect((await read(2, "eth_chainId")).text).toContain("0x2");
  });

  it("still return immutable results while the node is down, and all others fail at once", async () => {
    node.respondAs(() => "0x688");
    await read(1, "eth_chainId");
    await node[Symbol.asyncDispose]();
    expect(await read(1, "eth_chainId")).toMatchObject({ source: "cache" });
    expect((await read(1, "eth_gasPrice")).text).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the node is not responding; try again later"}}',
    );
    expect(gateway.readiness()).toMatchObject({ ok: false });
  });
});
