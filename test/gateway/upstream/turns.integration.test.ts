import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, testSettings, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const shared = { tiers: { public: limitlessTier }, callers: { trustedProxies: ["127.0.0.1"] } };
const from = (address: string) => ({ "X-Forwarded-For": address });
const storage = (at: number) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: at,
    method: "eth_getStorageAt",
    params: [`0x${"ab".repeat(20)}`, `0x${at.toString(16)}`, "latest"],
  });

describe("calls queued for the node", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  let responses: (() => void)[];
  const restart = useGateway(shared, (started) => {
    ({ node, gateway } = started);
    responses = [];
    node.respondAs(({ id }, response) => {
      responses.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"0x1"}`));
      return responseWritten;
    });
  });

  it.each([1, 100])(
    "use the scheduling rounds of all callers waiting for the same response (batches to the node: %i)",
    async (batchItems) => {
      await restart({ upstream: { connections: 1, queuedCallsPerCaller: 4_096, batchItems }, ...shared });
      const shown = async (line: string) => (await gateway.metrics.metrics()).includes(`${line}\n`);
      const first = post(gateway.url, storage(5_000), from("9.9.9.1"));
      await until("the first is at the node", generousMs, () => responses.length === 1);
      const popular = 900;
      const many: Promise<unknown>[] = [];
      for (let at = 0; at < 20; at += 1) {
        // The popular read is sent last, in a batch with another.
        const calls = [storage(2 * at), storage(at === 19 ? popular : 2 * at + 1)];
        many.push(post(gateway.url, `[${calls.join(",")}]`, from("9.9.9.1")));
        const waiting = (at + 1) * (batchItems === 1 ? 2 : 1);
        await until("the batch is queued", generousMs, () => shown(`calls_queued ${waiting}`));
      }
      const other = post(gateway.url, storage(popular), from("9.9.9.2"));
      await until("the other caller's call is in flight", generousMs, () =>
        shown(`calls_in_flight ${batchItems === 1 ? 42 : 22}`),
      );
      node.respondAs(() => "0x1");
      responses[0]?.();
      expect((await other).text).toBe(`{"jsonrpc":"2.0","id":${popular},"result":"0x1"}`);
      await Promise.all([first, ...many]);
      const order = node.requests.map(({ id }) => id);
      expect(order).toHaveLength(41);
      // Only the calls that are already at the node, and at most one other call of the first caller and its batch, precede the popular
      // read.
      expect(order.indexOf(popular)).toBeLessThanOrEqual(batchItems === 1 ? 2 : 4);
    },
  );

  it("by default, never take all connections for a single anonymous or paying caller", () => {
    const { tiers, upstream } = testSettings();
    for (const tier of ["public", "paid"]) expect(tiers[tier]?.concurrency).toBeLessThan(upstream.connections);
  });
});
