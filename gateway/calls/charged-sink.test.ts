import { describe, expect, it } from "vitest";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import { createPolicy } from "../policy/policy.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { discardedAnswer } from "../answers/answer-sink.ts";
import { chargedSink, type AnswerCharge } from "./charged-sink.ts";

const kib = 1_024;

/** A charged sink, and what its caller owes. */
function indebted(rateLimit: Readonly<Record<string, number | boolean>> = {}) {
  const owed: number[] = [];
  const limiter: Pick<RateLimiter, "owe"> = { owe: (_key, costUnits) => void owed.push(costUnits) };
  const tier = { ...limitlessTier, webSockets: 1, subscriptions: 1 };
  const charge = {
    dependencies: { limiter },
    policy: createPolicy(testSettings({ rateLimit })),
    tier,
    context: { caller: { key: "a", listener: "public", tierName: "public" } },
  } as const satisfies AnswerCharge;
  return { owed, sum: () => owed.reduce((all, units) => all + units, 0), sink: chargedSink(discardedAnswer, charge) };
}

describe("chargedSink", () => {
  it("charges nothing for what every answer has free", () => {
    const { owed, sink } = indebted();
    sink.text("x".repeat(17 * kib - 1), "node");
    expect(owed).toEqual([]);
  });

  it("charges a whole answer by the KiB beyond that", () => {
    const { owed, sink } = indebted({ unitsPerAnswerKiB: 3, freeAnswerKiB: 10 });
    sink.bytes(Buffer.alloc(30 * kib), "node");
    expect(owed).toEqual([60]);
  });

  it("charges a streamed answer as it comes, and all of it in the end", () => {
    const { owed, sum, sink } = indebted();
    sink.begin(undefined, "node");
    for (let piece = 0; piece < 200; piece += 1) {
      sink.chunk(Buffer.alloc(10 * kib));
      expect(sum()).toBeGreaterThan(Math.max(0, (piece + 1) * 10 - 16) - 64);
    }
    expect(owed.length).toBeLessThan(40);
    sink.end();
    expect(sum()).toBe(2_000 - 16);
  });

  it("charges for what came of an answer that broke off", () => {
    const { sum, sink } = indebted();
    sink.begin(undefined, "node");
    sink.chunk(Buffer.alloc(50 * kib));
    sink.broken();
    expect(sum()).toBe(50 - 16);
  });

  it("charges nothing where rates are not limited, or answers are free", () => {
    for (const settings of [{ enabled: false }, { unitsPerAnswerKiB: 0 }]) {
      const { sink } = indebted(settings);
      expect(sink).toBe(discardedAnswer);
    }
  });
});
