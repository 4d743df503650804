import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startBlockProduction } from "./block-production.ts";

beforeEach(() => vi.useFakeTimers({ now: 10_300 }));
afterEach(() => vi.useRealTimers());

const log = pino({ level: "silent" });

test("blocks come at full intervals of the wall clock, and one that fails does not end that", async () => {
  const times: number[] = [];
  const produce = async () => {
    times.push(Date.now());
    if (times.length === 2) throw new Error("once");
  };
  const production = startBlockProduction({ blockTimeMs: 500 }, { produce, now: Date.now, log });
  await vi.advanceTimersByTimeAsync(1_800);
  await production[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(times).toEqual([10_500, 11_000, 11_500, 12_000]);
});

test("a block that takes long makes the next ones late, not many at once", async () => {
  const times: number[] = [];
  const produce = async () => {
    times.push(Date.now());
    await new Promise((resolve) => setTimeout(resolve, 1_200));
  };
  await using _ = startBlockProduction({ blockTimeMs: 500 }, { produce, now: Date.now, log });
  await vi.advanceTimersByTimeAsync(3_500);
  expect(times).toEqual([10_500, 12_000, 13_500]);
  await vi.advanceTimersByTimeAsync(1_000);
});
