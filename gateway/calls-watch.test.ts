import { describe, expect, it } from "vitest";
import type { Condition, ConditionReport, ConditionStatus } from "#status/condition.ts";
import { CallHistory, deriveCallsCondition, sumCalls, watchCalls } from "./calls-watch.ts";
import type { CallCount } from "./observe/meter.ts";

const ended = (outcome: CallCount["outcome"], count: number, method = "eth_call"): CallCount => ({
  method,
  tier: "public",
  outcome,
  count,
});

/** Returns the condition after checking calls that ended since the first check. */
function judge(calls: readonly CallCount[], previousStatus?: ConditionStatus) {
  const history = new CallHistory(60_000);
  history.add(sumCalls({ calls: [] }), 0);
  return deriveCallsCondition(history.add(sumCalls({ calls }), 30_000), previousStatus);
}

describe("the condition of recent calls", () => {
  it.each([
    [
      "all answered",
      [ended("node", 15), ended("cache", 10)],
      "Succeeding",
      "25 of 25 calls of the last 60 s were served.",
    ],
    [
      "the node fails reads",
      [ended("node", 100), ended("failed", 40), ended("failed", 60, "eth_getLogs")],
      "UpstreamFailing",
      "100 of 200 calls of the last 60 s got no response from the node (eth_getLogs 60, eth_call 40), although it responds to health checks. Send such a call directly to the node, and check its log.",
    ],
    [
      "overloaded",
      [ended("node", 100), ended("overload", 30), ended("failed", 2)],
      "Overloaded",
      "30 of 132 calls of the last 60 s were rejected: overloaded. Check whether this process lacks CPU (GatewayResponsive), whether the node is slow (gatehouse_gateway_node_duration_seconds), and whether overload.heavyParallel is too low for the callers' heavy calls (gatehouse_gateway_calls_queued).",
    ],
  ] as const)("%s", (_, calls, reason, message) => {
    expect(judge(calls)).toMatchObject({ reason, message });
  });

  it("is False if all calls fail, even if they are few", () => {
    expect(judge([ended("failed", 12)])).toMatchObject({ status: "False", reason: "UpstreamFailing" });
  });

  it("does not blame the node for rejected, limited or cancelled calls", () => {
    const calls = [ended("node", 30), ended("rejected", 500), ended("limited", 500), ended("cancelled", 500)];
    expect(judge(calls)).toMatchObject({ status: "True", message: "30 of 30 calls of the last 60 s were served." });
  });

  it("is undefined before the first calls", () => {
    expect(judge([ended("node", 19)])).toBeUndefined();
  });

  it("stays True while callers are idle, and the message says so", () => {
    const message = "Too few calls to evaluate: 3 of 3 calls of the last 60 s were served. Earlier ones were.";
    expect(judge([ended("node", 3)], "True")).toMatchObject({ reason: "Succeeding", message });
    const few = "Too few calls to evaluate: 0 of 0 calls of the last 60 s were served.";
    expect(judge([], "False")).toMatchObject({ reason: "TooFewCalls", message: few });
  });

  it("ignores single failures", () => {
    expect(judge([ended("node", 30), ended("failed", 9)])).toMatchObject({ status: "True" });
    expect(judge([ended("node", 1_000), ended("failed", 49)])).toMatchObject({ status: "True" });
  });

  it("stays False until almost all calls succeed again", () => {
    const some = [ended("node", 970), ended("failed", 30)];
    expect(judge(some)).toMatchObject({ status: "True" });
    expect(judge(some, "False")).toMatchObject({ status: "False" });
    expect(judge([ended("node", 991), ended("failed", 9)], "False")).toMatchObject({ status: "True" });
  });
});

describe("calls in the last minute", () => {
  it("drops calls that ended more than a minute ago", () => {
    const history = new CallHistory(60_000);
    history.add(sumCalls({ calls: [] }), 0);
    for (let atMs = 2_000; atMs <= 60_000; atMs += 2_000) history.add(sumCalls({ calls: [ended("failed", 50)] }), atMs);
    const after = [ended("failed", 50), ended("node", 7)];
    expect(history.add(sumCalls({ calls: after }), 62_000)).toEqual({
      windowMs: 60_000,
      calls: 7,
      failed: new Map(),
      shed: 0,
    });
  });

  it("start from zero when cleared, so that failures during a node outage are not counted", () => {
    const history = new CallHistory(60_000);
    history.add(sumCalls({ calls: [] }), 0);
    history.clear();
    history.add(sumCalls({ calls: [ended("failed", 50)] }), 2_000);
    const after = [ended("failed", 51)];
    expect(history.add(sumCalls({ calls: after }), 4_000)).toEqual({
      windowMs: 60_000,
      calls: 1,
      failed: new Map([["eth_call", 1]]),
      shed: 0,
    });
  });

  it("sum the tiers of a method", () => {
    const history = new CallHistory(60_000);
    history.add(sumCalls({ calls: [] }), 0);
    const calls = [ended("failed", 3), { ...ended("failed", 4), tier: "gold" }];
    expect(history.add(sumCalls({ calls }), 2_000)).toEqual({
      windowMs: 60_000,
      calls: 7,
      failed: new Map([["eth_call", 7]]),
      shed: 0,
    });
  });
});

/** Checks once, and then whenever the test triggers it. */
function startWatch() {
  const clock = { nowMs: 0, wallMs: () => 0, monotonicMs: () => clock.nowMs };
  const set: ConditionReport[] = [];
  const board = {
    get: () => set.at(-1) as Condition | undefined,
    set: (report: ConditionReport) => void set.push(report),
  };
  const state = { calls: [] as readonly CallCount[], isServing: true };
  const stopController = new AbortController();
  const waits: (() => void)[] = [];
  const callsWatch = watchCalls(
    {
      traffic: () => Promise.resolve({ calls: state.calls, limited: [] }),
      isServing: () => state.isServing,
      board,
      clock,
      log: { error: () => undefined },
      signal: stopController.signal,
    },
    () => new Promise((resolve) => void waits.push(resolve)),
  );
  return {
    state,
    /** Returns the condition after the next check, this many milliseconds later. */
    checkLater: async (laterMs: number) => {
      await expect.poll(() => waits.length, { interval: 1 }).toBeGreaterThan(0);
      clock.nowMs += laterMs;
      waits.splice(0).forEach((go) => go());
      await expect.poll(() => waits.length, { interval: 1 }).toBeGreaterThan(0);
      return set.at(-1);
    },
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      waits.splice(0).forEach((go) => go());
      await callsWatch;
    },
  };
}

describe("the calls watch", () => {
  it("evaluates ten minutes of low traffic, so that one failing call a minute is noticed", async () => {
    await using watch = startWatch();
    for (let minute = 1; minute < 10; minute += 1) {
      watch.state.calls = [ended("failed", minute)];
      expect(await watch.checkLater(58_000)).toBeUndefined();
    }
    watch.state.calls = [ended("failed", 10)];
    const message = expect.stringMatching(/^10 of 10 calls of the last 600 s got no response from the node/) as unknown;
    expect(await watch.checkLater(58_000)).toMatchObject({ reason: "UpstreamFailing", message });
  });

  it("ignores time in which the gateway did not serve, and does not blame a node that is down", async () => {
    await using watch = startWatch();
    watch.state.calls = [ended("failed", 50)];
    expect(await watch.checkLater(2_000)).toMatchObject({ reason: "UpstreamFailing" });
    watch.state.isServing = false;
    expect(await watch.checkLater(2_000)).toMatchObject({ reason: "NotServing" });
    watch.state.calls = [ended("failed", 500)];
    watch.state.isServing = true;
    expect(await watch.checkLater(2_000)).toMatchObject({ reason: "TooFewCalls" });
    watch.state.calls = [ended("failed", 500), ended("node", 20)];
    expect(await watch.checkLater(2_000)).toMatchObject({ reason: "Succeeding" });
    watch.state.isServing = false;
    expect(await watch.checkLater(2_000)).toMatchObject({ reason: "Succeeding" });
  });
});
