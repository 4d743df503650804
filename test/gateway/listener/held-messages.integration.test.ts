import { describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** A batch of calls of a few hundred bytes, each of which costs little: `large` in total, or less than is read per tick. */
const batchOf = (count: number) =>
  `[${Array.from({ length: count }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"eth_call","params":[{"data":"0x${"ab".repeat(1_500)}"},"latest"]}`).join(",")}]`;

describe.each(bothPaths)("a message received in one piece, on %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  const responses: (() => void)[] = [];
  useGateway(
    {
      tiers: { public: limitlessTier },
      listener: { fastPath },
      upstream: { batchItems: 1 },
      memory: { connectionBytes: 400_000 },
    },
    (started) => {
      ({ node, gateway } = started);
      responses.length = 0;
      node.respondAs(({ id }, response) => {
        responses.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"0x1"}`));
        return responseWritten;
      });
    },
  );
  const held = async () => Number(/buffered_bytes (\d+)$/m.exec(await gateway.metrics.metrics())?.[1]);
  const endAll = async (done: Promise<unknown>) => {
    node.respondAs(() => "0x1");
    for (const end of responses) end();
    await done;
  };

  it.each([15, 80])("is buffered until its batch of %i calls is answered", async (calls) => {
    const body = batchOf(calls);
    const answeredResponse = post(gateway.url, body);
    await until("a call is at the node", generousMs, () => responses.length > 0);
    expect(await held()).toBeGreaterThanOrEqual(body.length);
    expect(await held()).toBeLessThan(1.5 * body.length);
    await endAll(answeredResponse);
    await until("no memory is held", generousMs, async () => (await held()) === 0);
  });

  it("is released once its client disconnects", async () => {
    const abort = new AbortController();
    const headers = { "Content-Type": "application/json" };
    const answeredResponse = fetch(gateway.url, { method: "POST", body: batchOf(80), headers, signal: abort.signal });
    await until("a call is at the node", generousMs, () => responses.length > 0);
    abort.abort();
    await Promise.allSettled([answeredResponse]);
    await until("no memory is held", generousMs, async () => (await held()) === 0);
  });
});

describe("a message that exceeds the memory limit", () => {
  it("is rejected with the name of the limit, and leaves nothing buffered", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      memory: { connectionBytes: 10_000 },
    });
    const { status, text } = await post(gateway.url, batchOf(4));
    expect(status).toBe(429);
    expect(text).toMatch(/^\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32005,"message":"too much is buffered/);
    const metrics = await gateway.metrics.metrics();
    expect(metrics).toContain('gatehouse_gateway_limited_total{limit="memory",tier="public"} 1');
    expect(metrics).toMatch(/buffered_bytes 0$/m);
  });
});
