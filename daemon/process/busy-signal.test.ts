import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { watchBusy } from "./busy-signal.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Simulates this many calls per second; returns the number of seconds after which the process counted as busy. */
function countCalls(bySecond: readonly number[]) {
  let calls = 0;
  const busyAfter: number[] = [];
  using _ = watchBusy({ busyCalls: 1_000, completed: () => calls, becameBusy: () => busyAfter.push(calls) });
  for (const more of bySecond) {
    calls += more;
    vi.advanceTimersByTime(1_000);
  }
  return busyAfter;
}

it("reports once if a thousand calls end within a second", () => {
  expect(countCalls([999, 1_000, 2_000])).toEqual([1_999]);
});

it("reports nothing if as many calls take longer", () => {
  expect(countCalls(Array.from({ length: 10 }, () => 500))).toEqual([]);
});

it("reports a burst immediately, before its second ends", () => {
  let calls = 0;
  let isBusy = false;
  using _ = watchBusy({ busyCalls: 1_000, completed: () => calls, becameBusy: () => void (isBusy = true) });
  calls = 1_000;
  vi.advanceTimersByTime(100);
  expect(isBusy).toBe(true);
});
