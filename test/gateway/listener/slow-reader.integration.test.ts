import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

const requests = 300;
const resultBytes = 200_000;
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';

const syncingRequest = buildRequest('{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}');

/** Sends all requests at once, and reads nothing. */
function connectDeafly(url: string, sent = buildRequest(body).repeat(requests)): Socket {
  return openRaw(url, sent).socket.pause();
}

/** Requests served from the cache. */
async function countResponses({ metrics }: TestGateway): Promise<number> {
  const line = /^gatehouse_gateway_call_duration_seconds_count\{.*outcome="cache".*\} (\d+)$/m;
  return Number(line.exec(await metrics.metrics())?.[1] ?? 0);
}

/** Bytes reserved for clients. */
async function readReservedBytes({ metrics }: TestGateway): Promise<number> {
  return Number(/^gatehouse_gateway_buffered_bytes (\d+)$/m.exec(await metrics.metrics())?.[1]);
}

/** Waits until some responses have arrived, followed by none for a while. */
async function untilQuiet(gateway: TestGateway): Promise<number> {
  let seen = 0;
  let since = performance.now();
  await until("no more responses arrive", generousMs, async () => {
    const now = await countResponses(gateway);
    if (now !== seen) since = performance.now();
    seen = now;
    return seen > 0 && performance.now() - since > 250;
  });
  return seen;
}

describe("a client that sends requests and reads no responses", () => {
  let node: FakeNode;
  beforeAll(async () => {
    node = await startFakeNode();
    node.respondAs(() => "z".repeat(resultBytes));
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it("is paused until it reads, and then gets every response", async () => {
    await using gateway = await startTestGateway(node, { tiers: { public: limitlessTier } });
    await post(gateway.url, body);
    const socket = connectDeafly(gateway.url);
    expect(await untilQuiet(gateway)).toBeLessThan(requests / 2);
    let received = 0;
    socket.on("data", (bytes: Buffer) => (received += bytes.length));
    socket.resume();
    await until(
      "the remaining requests have responses",
      generousMs,
      async () => (await countResponses(gateway)) === requests,
    );
    await until("the responses have arrived", generousMs, () => received > requests * resultBytes);
    socket.destroy();
  });

  it.each([true, false])("is disconnected after too long without reading (fast path: %s)", async (fastPath) => {
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      listener: { slowReaderTimeoutMs: 500, connections: 1, fastPath },
    });
    const socket = connectDeafly(gateway.url);
    await until("responses wait for it", generousMs, async () => (await readReservedBytes(gateway)) > 0);
    const isServed = () =>
      post(gateway.url, body)
        .then(({ status }) => status === 200)
        .catch(() => false);
    await until("another connection is accepted", generousMs, isServed);
    socket.destroy();
  });

  it.each([true, false])(
    "frees the node connection, and stays within its buffer limits (fast path: %s)",
    async (fastPath) => {
      node.respondAs(({ method }) => (method === "eth_syncing" ? "z".repeat(16_000_000) : "0x1"));
      await using gateway = await startTestGateway(node, {
        tiers: { public: limitlessTier },
        upstream: { connections: 1 },
        listener: { fastPath, slowReaderTimeoutMs: 1_000 },
      });
      const socket = connectDeafly(gateway.url, syncingRequest);
      await until(
        "the response waits for its reader",
        generousMs,
        async () => (await readReservedBytes(gateway)) > 1_000_000,
      );
      // The only connection to the node is free again.
      expect((await post(gateway.url, '{"jsonrpc":"2.0","id":1,"method":"eth_hashrate"}')).status).toBe(200);
      expect(
        (await post(gateway.url, '{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":[]}')).text,
      ).toBe('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
      await until(
        "it is disconnected and no memory is held for it",
        generousMs,
        async () => (await readReservedBytes(gateway)) === 0,
      );
      socket.destroy();
      node.respondAs(() => "z".repeat(resultBytes));
    },
  );

  it.each([true, false])("gets all of a long response if it eventually reads (fast path: %s)", async (fastPath) => {
    node.respondAs(() => "z".repeat(16_000_000));
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      memory: { connectionBytes: 1_000_000 },
      listener: { fastPath },
    });
    const socket = connectDeafly(gateway.url, syncingRequest);
    const received: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.pause();
    await until("a part of it is buffered", generousMs, async () => (await readReservedBytes(gateway)) > 100_000);
    socket.resume();
    const length = () => received.reduce((sum, { length: bytes }) => sum + bytes, 0);
    await until("all of it has arrived", generousMs, () => length() > 16_000_000);
    const text = Buffer.concat(received).toString("latin1");
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4))).toEqual({
      jsonrpc: "2.0",
      id: 1,
      result: "z".repeat(16_000_000),
    });
    socket.destroy();
    node.respondAs(() => "z".repeat(resultBytes));
  });

  it("gets complete responses even if further requests exceed the memory limit", async () => {
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      memory: { connectionBytes: 220_000 },
    });
    await post(gateway.url, body);
    const socket = connectDeafly(gateway.url);
    await untilQuiet(gateway);
    const received: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.resume();
    const length = () => received.reduce((sum, { length: bytes }) => sum + bytes, 0);
    await until("the responses have arrived", generousMs, () => socket.closed || length() > requests * resultBytes);
    const responses = Buffer.concat(received).toString("latin1").split("HTTP/1.1 200 OK\r\n").slice(1);
    const wrong = responses.filter((response) => !response.endsWith(`${"z".repeat(resultBytes)}"}`));
    expect(wrong.map((response) => response.replace(/z+/, "z…"))).toEqual([]);
    expect(responses).toHaveLength(requests);
    socket.destroy();
  });
});

const answerTo = (address: string) => address.repeat(800);
const balance = (id: number) => {
  const address = `0x${String(id).padStart(40, "0")}`;
  const params = `["${address}","latest"]`;
  return { address, message: `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":${params}}` };
};

describe("distinct long responses", () => {
  it.each([true, false])(
    "reach a late reader unchanged, after other clients have theirs (fast path: %s)",
    async (fastPath) => {
      await using node = await startFakeNode();
      node.respondAs(({ params: [address] }) => answerTo(String(address)));
      await using gateway = await startTestGateway(node, { tiers: { public: limitlessTier }, listener: { fastPath } });
      const late = Array.from({ length: 10 }, (_, client) => {
        const calls = Array.from({ length: 20 }, (__, call) => balance(1_000 + client * 100 + call));
        return {
          socket: connectDeafly(gateway.url, calls.map(({ message }) => buildRequest(message)).join("")),
          calls,
        };
      });
      for (let wave = 0; wave < 5; wave += 1) {
        const calls = Array.from({ length: 20 }, (_, place) => balance(10_000 + wave * 100 + place));
        const responses = await Promise.all(calls.map(({ message }) => post(gateway.url, message)));
        expect(responses.map(({ text }) => (JSON.parse(text) as { result: unknown }).result)).toEqual(
          calls.map(({ address }) => answerTo(address)),
        );
      }
      for (const { socket, calls } of late) {
        let text = "";
        socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
        socket.resume();
        await until(
          "all of it has arrived",
          generousMs,
          () => text.endsWith("}") && text.split('"result":').length > calls.length,
        );
        const results = [...text.matchAll(/"result":"(\w+)"\}/g)].map(([, result]) => result);
        expect(results).toEqual(calls.map(({ address }) => answerTo(address)));
        socket.destroy();
      }
    },
  );
});
