import { describe, expect, it } from "vitest";
import type { ResponseFailure } from "../errors.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { createTestAccount, createTestContext, noFlow } from "../testing/test-context.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { createTextSink, type TextResponse } from "../responses/text-sink.ts";
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
