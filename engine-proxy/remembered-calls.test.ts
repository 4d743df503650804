import { expect, test } from "vitest";
import { createCallLimit } from "./remembered-calls.ts";

test("calls within a sliding window are bounded, and the oldest decides when the next one is allowed", () => {
  let nowMs = 5_000;
  const limit = createCallLimit({ most: 2, withinMs: 3_600_000 }, () => nowMs);
  expect(limit.acquire()).toBe(0);
  nowMs += 600_000;
  expect([limit.acquire(), limit.acquire()]).toEqual([0, 3_000]);
  nowMs += 2_999_001;
  expect(limit.acquire()).toBe(1);
  nowMs += 999;
  expect([limit.acquire(), limit.acquire()]).toEqual([0, 600]);
});
