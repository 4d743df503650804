import { expect, test } from "vitest";
import { countPush, isShared, type PushesSeen } from "./push-watch.ts";

/** Looks four times an interval at a group that is pushed to at the given times (in intervals). */
function watched(pushedAt: (interval: number) => readonly number[]): boolean | undefined {
  let seen: PushesSeen | undefined;
  const intervalSeconds = 10;
  let shared: boolean | undefined;
  for (let quarter = 0; quarter <= 28; quarter += 1) {
    const nowMs = quarter * 2_500;
    const pushes = Array.from({ length: 8 }, (_, interval) => pushedAt(interval)).flat();
    const last = Math.max(...pushes.filter((at) => at * 10_000 <= nowMs));
    seen = countPush(seen, { lastPushSeconds: last, ageMs: 0 }, nowMs, intervalSeconds);
    shared = isShared(seen, nowMs, intervalSeconds);
  }
  return shared;
}

test("one node pushes once an interval", () => {
  expect(watched((interval) => [interval])).toBe(false);
});

test("two nodes under one job are recognised by twice as many pushes", () => {
  expect(watched((interval) => [interval, interval + 0.5])).toBe(true);
});

test("a push does not grow old by a jump of the wall clock", () => {
  const first = countPush(undefined, { lastPushSeconds: 1, ageMs: 2_000 }, 10_000, 10);
  expect(first.lastPushSeenMs).toBe(8_000);
  expect(countPush(first, { lastPushSeconds: 1, ageMs: 3_600_000 }, 12_000, 10).lastPushSeenMs).toBe(8_000);
});
