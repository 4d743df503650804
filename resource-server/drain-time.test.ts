import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { facilitatorDefaults } from "#facilitator/facilitator.ts";
import { createDrainSignal } from "./drain-time.ts";
import { planSettlementWithin } from "./facilitators/facilitator-in-process.ts";

/** Milliseconds from a stop until the signal of a process with this grace period aborts. */
function computeDrainMs(graceMs: number): number {
  const stop = new AbortController();
  const signal = createDrainSignal(stop.signal, graceMs);
  let abortedAt: number | undefined;
  signal.addEventListener("abort", () => (abortedAt = Date.now()));
  const stoppedAt = Date.now();
  stop.abort();
  vi.advanceTimersByTime(graceMs);
  if (abortedAt === undefined) throw new Error("the signal was expected to abort within the grace period");
  return abortedAt - stoppedAt;
}

describe("a process that stops while a settlement is pending", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([100, 5_000, 20_000, 600_000])("responds within a grace period of %i ms", (graceMs) => {
    expect(computeDrainMs(graceMs) + planSettlementWithin(graceMs).drainMs).toBeLessThan(graceMs);
  });

  it("differs from a facilitator's settlement settings only in drainMs", () => {
    const { drainMs, ...settlement } = planSettlementWithin(5_000);
    const { drainMs: longestMs, ...defaults } = facilitatorDefaults.settlement;
    expect(settlement).toEqual(defaults);
    expect(drainMs).toBe(1_000);
    expect(planSettlementWithin(600_000).drainMs).toBe(longestMs);
  });
});
