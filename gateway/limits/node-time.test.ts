import { describe, expect, it } from "vitest";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { NodeTime } from "./node-time.ts";

/** The node's time for calls that each cost these units, with the units owed for what it takes. */
function timeCalls(costs: readonly number[], rateLimit: Readonly<Record<string, number | boolean>> = {}) {
  const settings = testSettings({ rateLimit }).rateLimit;
  const tier = { ...limitlessTier, webSockets: 1, subscriptions: 1 };
  const owed: number[] = [];
  const nodeTime = new NodeTime();
  for (const cost of costs) nodeTime.pay(cost);
  const end = (startedAt: number, endedAt: number) =>
    nodeTime.charge({ caller: "a", tier, startedAt, endedAt }, settings, {
      owe: (_key, costUnits) => void owed.push(costUnits),
    });
  return { owed, end };
}

describe("the node's time for calls that run contract code", () => {
  it("is free as far as their units buy it", () => {
    const { owed, end } = timeCalls([26]);
    end(0, 26);
    expect(owed).toEqual([]);
  });

  it("costs a unit for each millisecond beyond", () => {
    const { owed, end } = timeCalls([26]);
    end(1_000, 2_000.5);
    expect(owed).toEqual([974]);
  });

  it("counts each moment once for calls that ran in one batch", () => {
    const { owed, end } = timeCalls([26, 26, 26, 26]);
    end(0, 200);
    end(0, 200);
    end(100, 300);
    end(500, 600);
    expect(owed).toEqual([96, 100, 100]);
  });

  it("costs nothing where rates are not limited", () => {
    const { owed, end } = timeCalls([26], { enabled: false });
    end(0, 1_000);
    expect(owed).toEqual([]);
  });
});
