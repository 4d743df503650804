import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const connectionBytes = 1_000_000;
const totalBytes = 3_500_000;
const answerBytes = 50_000;
/** Its weight is so high that it gets a request of its own to the node. */
const late = "eth_estimateGas";
const call = (id: number, method: string, data: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":[{"data":"${data}"},"latest"]}`;
const calls = 61;
/** A batch whose first response is late and delays all other responses. */
const waitingBatch = (first: number) =>
  `[${Array.from({ length: calls }, (_, at) => call(at, at === 0 ? late : "eth_call", `0x${first + at}`)).join(",")}]`;
type Entry = { id: number; result?: string; error?: { code: number } };

describe.each([
  ["one by one", 1],
  ["in batches", 100],
])("responses in a batch that wait for earlier ones, with calls sent to the node %s", (_way, batchItems) => {
  let node: FakeNode;
  let gateway: TestGateway;
  const lateAnswers: (() => void)[] = [];
  beforeEach(async () => {
    lateAnswers.length = 0;
    node = await startFakeNode();
    node.respondAs(({ id, method, params }, response) => {
      if (method !== late) return JSON.stringify(params).includes("0xf") ? "0x1" : "z".repeat(answerBytes);
      lateAnswers.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"0x1"}`));
      return responseWritten;
    });
    gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      callers: { trustedProxies: ["127.0.0.1"] },
      methods: { [late]: { costUnits: 100 } },
      upstream: { batchItems },
      limits: { batchParallel: 64 },
      memory: { totalBytes, addressBytes: totalBytes, connectionBytes },
      cache: { totalBytes: 0 },
    });
  });
  afterEach(async () => {
    for (const end of lateAnswers) end();
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const held = async () => Number(/buffered_bytes (\d+)$/m.exec(await gateway.metrics.metrics())?.[1]);
  const from = (address: string, body: string) => post(gateway.url, body, { "X-Forwarded-For": address });
  /** Sends batches and waits until the gateway also has all of their responses, except for the late ones. */
  const sendWaiting = async (addresses: readonly string[]) => {
    const sent = addresses.map((address, at) => from(address, waitingBatch(at * calls)));
    const left = `calls_in_flight ${addresses.length}\n`;
    await gateway.shows(left);
    await until("they are requested", generousMs, () => lateAnswers.length === addresses.length);
    return sent;
  };

  it("are buffered up to the connection limit, and replaced with errors beyond it", async () => {
    const [batch] = await sendWaiting(["198.51.100.1"]);
    expect(await held()).toBeLessThanOrEqual(connectionBytes);
    for (const end of lateAnswers) end();
    const entries = JSON.parse((await batch)?.text ?? "") as Entry[];
    expect(entries.map(({ id }) => id)).toEqual(Array.from({ length: calls }, (_, at) => at));
    const results = entries.filter(({ result }) => result?.length === answerBytes);
    expect(results.length).toBeGreaterThan(5);
    expect(results.length).toBeLessThanOrEqual(connectionBytes / answerBytes);
    expect(entries.filter(({ error }) => error?.code === -32_005)).toHaveLength(calls - 1 - results.length);
    expect(await held()).toBe(0);
  });

  it("do not prevent messages from a different address from being buffered", async () => {
    const waiting = await sendWaiting(Array.from({ length: 5 }, (_, at) => `198.51.100.${at}`));
    expect(await held()).toBeGreaterThan(totalBytes - 2 * answerBytes);
    const message = `[${Array.from({ length: 16 }, (_, id) => call(id, "eth_call", `0xf${"ab".repeat(1_500)}`)).join(",")}]`;
    const { status, text } = await from("203.0.113.1", message);
    expect([status, (JSON.parse(text) as Entry[]).map(({ result }) => result)]).toEqual([
      200,
      Array.from({ length: 16 }, () => "0x1"),
    ]);
    for (const end of lateAnswers) end();
    for (const batch of waiting) expect((await batch).status).toBe(200);
  });
});
