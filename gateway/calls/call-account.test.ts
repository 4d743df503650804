import { describe, expect, it } from "vitest";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { createTestCalls } from "../testing/test-calls.ts";
import { CallAccount } from "./call-account.ts";

/**
 * Calls that run contract code, each at this cost, as one batch or separately, with the units owed for the node's time.
 */
function timeCalls(costs: readonly number[], { isBatch = true, rateLimit = {} } = {}) {
  const { dependencies, owed, clock } = createTestCalls({ rateLimit });
  const { gate } = dependencies;
  const caller = { key: "a", listener: "public", tierName: "public" } as const;
  const account = new CallAccount(dependencies, { caller, memory: roomyMemory, traceContext: undefined }, false);
  const sender = { send: () => expect.unreachable("nothing is sent") };
  if (isBatch) account.batch = { sender, gate };
  const method = account.policy.catalogue.get("eth_call")!;
  for (const cost of costs) account.enter(gate, method, cost);
  const end = (requestedAt: number, endedAt: number) => {
    clock.ms = endedAt;
    const call = { method, costUnits: costs[0] ?? 0, gate, requestedAt };
    account.ended({ ...call, beganAt: undefined, trace: undefined, traceContext: undefined }, "node");
  };
  return { owed, end };
}

describe("the node's time for calls that run contract code", () => {
  it.each([true, false])("is free as far as their units buy it; in a batch: %s", (isBatch) => {
    const { owed, end } = timeCalls([26], { isBatch });
    end(0, 26);
    expect(owed).toEqual([]);
  });

  it.each([true, false])("costs a unit for each millisecond beyond; in a batch: %s", (isBatch) => {
    const { owed, end } = timeCalls([26], { isBatch });
    end(1_000, 2_000.5);
    expect(owed).toEqual([974]);
  });

  it("counts each moment once for calls that ran in one batch, and for each call that ran alone", () => {
    for (const [isBatch, expected] of [
      [true, [96, 100, 100]],
      [false, [174, 174, 174, 74]],
    ] as const) {
      const { owed, end } = timeCalls([26, 26, 26, 26], { isBatch });
      end(0, 200);
      end(0, 200);
      end(100, 300);
      end(500, 600);
      expect(owed).toEqual(expected);
    }
  });

  it("costs nothing where rates are not limited", () => {
    const { owed, end } = timeCalls([26], { rateLimit: { enabled: false } });
    end(0, 1_000);
    expect(owed).toEqual([]);
  });
});
