import { describe, expect, it } from "vitest";
import type { ResponseFailure } from "../errors.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { createTestAccount, createTestContext, noFlow } from "../testing/test-context.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { discardedResponse } from "../responses/response-sink.ts";
import { createTextSink, type TextResponse } from "../responses/text-sink.ts";
import { chooseBatchStrategy } from "./batch-strategy.ts";
import { handleCall } from "./call-handler.ts";

describe("a split range", () => {
  it("is rejected by an asynchronous limiter", async () => {
    const sent: string[] = [];
    const { context } = createTestContext({
      settings: { tiers: { public: { ...limitlessTier, splitBlocks: 1_000 } } },
      send: ({ body }) => {
        sent.push(body);
        return noFlow;
      },
    });
    const charges: number[] = [];
    const limiter = {
      ...context.limiter,
      acquire: async (_key: string, costUnits: number) => (charges.push(costUnits) === 1 ? undefined : 3_000),
    };
    const response = await new Promise<TextResponse | ResponseFailure>((resolve) => {
      handleCall(
        createTestAccount({ ...context, limiter }),
        { id: "1", method: "eth_getLogs", params: '[{"fromBlock":"0x0","toBlock":"0xf9"}]' },
        createTextSink(10_000, roomyMemory, resolve),
      );
      setTimeout(() => resolve("unavailable"), 1_000);
    });
    expect(response).toMatchObject({ retryAfterSeconds: 3 });
    expect(charges[1]).toBe(2 * (charges[0] ?? 0));
    expect(sent).toEqual([]);
  });
});

describe("waiting calls", () => {
  const tiers = { public: { ...limitlessTier, concurrency: 1 } };

  it("of a batch with a slot wait for its own calls, although another call of the batch waited in vain", () => {
    const account = createTestAccount(createTestContext({ settings: { tiers } }).context);
    account.batch = chooseBatchStrategy(account);
    account.hasGivenUp = true;
    const rejected: string[] = [];
    const sink = { ...discardedResponse, text: (json: string) => void rejected.push(json) };
    for (const id of ["1", "2"])
      handleCall(account, { id, method: "eth_getBalance", params: `["0x${id.repeat(40)}","latest"]` }, sink);
    expect([rejected, account.context.gate.callsInFlight]).toEqual([[], 1]);
  });

  it("wait no longer in two queues than in one", async () => {
    const clock = { ms: 0 };
    const waitMs = 600_000;
    const settings = { tiers, overload: { heavyParallel: 1, waitMs } };
    const { context, policy } = createTestContext({ settings, now: () => clock.ms });
    const { gate } = context;
    const account = createTestAccount(context);
    const { overload } = policy.settings;
    gate.enter(account.key, account.tier, 1, overload);
    gate.enter("b", account.tier, overload.heavyCostUnits, overload);
    const rejected = new Promise<string>((resolve) => {
      const call = { id: "1", method: "debug_traceTransaction", params: `["0x${"1".repeat(64)}"]` };
      handleCall(account, call, { ...discardedResponse, text: resolve });
    });
    clock.ms = waitMs;
    gate.leave(account.key, 1, overload);
    expect(await rejected).toContain("too much load");
  });
});
