import { describe, expect, it } from "vitest";
import { type CompletedCall, type Meter, withBusySignal } from "./meter.ts";

const ended: CompletedCall = {
  method: "eth_chainId",
  tier: "public",
  outcome: "gateway",
  seconds: 0,
  requestId: undefined,
};

/** Ends so many calls, `gapMs` apart; gives how many reached the meter behind, and after which the gateway was called busy. */
function endCalls(count: number, gapMs: number) {
  const seen = { calls: 0, busyAfter: [] as number[] };
  let clockMs = 0;
  const inner: Meter = {
    call: () => {
      seen.calls += 1;
    },
    node: () => undefined,
    limited: () => undefined,
  };
  const meter = withBusySignal(inner, {
    now: () => clockMs,
    becameBusy: () => seen.busyAfter.push(seen.calls + 1),
  });
  for (let call = 0; call < count; call += 1) {
    meter.call(ended);
    clockMs += gapMs;
  }
  return seen;
}

describe("withBusySignal", () => {
  it("reports once when a thousand calls end within a second", () => {
    expect(endCalls(5_000, 0.5)).toEqual({ calls: 5_000, busyAfter: [1_000] });
  });

  it("reports nothing of as many calls that take longer", () => {
    expect(endCalls(5_000, 2)).toEqual({ calls: 5_000, busyAfter: [] });
  });
});
