import { describe, expect, it } from "vitest";
import type { ResponseFailure } from "../errors.ts";
import { Head } from "../chain/head.ts";
import { createPolicy } from "../policy.ts";
import { createTestCalls } from "../testing/test-calls.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { finishedFlow } from "../responses/response-sink.ts";
import { createTextSink, type TextResponse } from "../responses/text-sink.ts";
import { CallAccount } from "./call-account.ts";
import { handleCall } from "./call-handler.ts";

const tier = {
  requestsPerSecond: 1,
  requestBurst: 1,
  computeUnitsPerSecond: 1,
  computeUnitBurst: 1,
  concurrency: 100,
  splitBlocks: 1_000,
};

describe("a range in pieces", () => {
  it("is refused by a limiter that answers later", async () => {
    const { dependencies } = createTestCalls();
    const policy = createPolicy(testSettings({ tiers: { public: tier } }));
    const head = new Head({ staleAfterMs: 1_000 }, { now: () => 0, wallClock: Date.now });
    head.advance({ number: 1_000n, hash: '"0x1"' });
    const charges: number[] = [];
    const asked: string[] = [];
    const limiter = {
      ...dependencies.limiter,
      acquire: async (_key: string, costUnits: number) => (charges.push(costUnits) === 1 ? undefined : 3_000),
    };
    const reads = {
      ...dependencies.reads,
      read: ({ params }: Readonly<{ params: string }>) => {
        asked.push(params);
        return finishedFlow;
      },
    };
    const account = new CallAccount(
      { ...dependencies, policy: () => policy, head, limiter, reads },
      { caller: { key: "a", listener: "public", tierName: "public" }, memory: roomyMemory, traceContext: undefined },
      false,
    );
    const answer = await new Promise<TextResponse | ResponseFailure>((resolve) => {
      handleCall(
        account,
        { id: "1", method: "eth_getLogs", params: '[{"fromBlock":"0x0","toBlock":"0xf9"}]' },
        createTextSink(10_000, roomyMemory, resolve),
      );
      setTimeout(() => resolve("unavailable"), 1_000);
    });
    expect(answer).toMatchObject({ retryAfterSeconds: 3 });
    expect(charges[1]).toBe(2 * (charges[0] ?? 0));
    expect(asked).toEqual([]);
  });
});
