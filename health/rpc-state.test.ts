import { describe, expect, it } from "vitest";
import { deriveRpcConditions, deriveHealthInfo } from "./rpc-conditions.ts";
import {
  findFaults,
  isResponding,
  resetForChain,
  type NodeInfo,
  type RpcState,
  type RpcCheckFailure,
} from "./rpc-state.ts";
import { createObservation } from "./observation.ts";

const limits = { url: "http://127.0.0.1:8545", chainId: 7, staleAfterMs: 30_000 };
const rejected: RpcCheckFailure = { reason: "ConnectionRefused", message: "Rejected." };
const late: RpcCheckFailure = { reason: "TimedOut", message: "Timed out." };

function check(health: RpcState, before: NodeInfo, monotonicMs: number): NodeInfo {
  const now = { monotonicMs, wallMs: 1_000_000 };
  const facts = createObservation(before);
  facts.note(deriveHealthInfo(deriveRpcConditions(health, limits, now), before, now));
  return facts.now();
}

describe("the result of an RPC check", () => {
  it("is unresponsive since the first failure, even if later failures differ", () => {
    const first = check({ answers: 3, height: 5, failure: rejected }, {}, 1_000);
    const second = check({ answers: 3, height: 5, failure: late }, first, 2_000);
    expect(second.rpc).toEqual({ sinceMs: 1_000, fault: late });
    const third = check({ answers: 4, height: 5 }, second, 3_000);
    expect([third.rpc, isResponding(third)]).toEqual([{ sinceMs: 3_000, fault: undefined }, true]);
  });

  it("keeps the result of the chain id check while the node does not report the id", () => {
    const known = check({ answers: 1, chainId: 8 }, {}, 0);
    expect(check({ answers: 1 }, known, 1).chain).toBe("another");
  });

  it.each<[NodeInfo["height"], Partial<RpcState>]>([
    ["advancing", { height: 5, heightSinceMs: 90_000 }],
    ["idle", { height: 5, heightSinceMs: 0, reference: { height: 5, requestedAtMs: 0 } }],
    ["quiet", { height: 5, heightSinceMs: 0 }],
    [undefined, {}],
  ])("describes the height as %s", (fact, health) => {
    expect(check({ answers: 2, ...health }, {}, 100_000).height).toBe(fact);
  });

  it.each([
    ["Stalled", { height: 5, heightSinceMs: 0, reference: { height: 9, requestedAtMs: 0 } }],
    ["NoNewBlock", { height: 5, heightSinceMs: 0, cadence: "steady" }],
    ["WentBackwards", { height: 5, heightSinceMs: 0, highest: 6 }],
  ] as const)("contains the fault %s if the condition is False", (reason, health) => {
    expect(findFaults(check({ answers: 2, ...health }, {}, 100_000))).toEqual([
      { reason, message: expect.stringMatching(/\.$/) as string },
    ]);
  });
});

describe("a change of the chain", () => {
  it("drops what a block of either chain showed about the clock", () => {
    const clockDifference = " The timestamp of block 5 was 90 s in the future.";
    const known = { answers: 2, height: 5, clockDifference };
    const other = { answers: 3, height: 7, clockDifference };
    expect(resetForChain(other, known, 1_000)).toMatchObject({ height: 5, clockDifference: "" });
    expect(resetForChain(other, undefined, 1_000)).toMatchObject({ answers: 3, clockDifference: "" });
  });
});

describe("faults", () => {
  it("list the RPC first and omit the chain", () => {
    const webSocket = { reason: "ConnectionClosed", message: "Closed." } as const;
    const lag = { reason: "Behind", message: "Behind.", blocks: 90 } as const;
    const facts: NodeInfo = { webSocket, lag, chain: "another", rpc: { sinceMs: 0, fault: rejected }, height: "quiet" };
    expect(findFaults(facts)).toEqual([rejected, lag, webSocket]);
  });

  it("are empty before the first check, even if nothing responds", () => {
    expect([findFaults({}), isResponding({})]).toEqual([[], false]);
  });
});
