import { expect, test } from "vitest";
import { conditionReasons } from "./condition-reasons.ts";
import type { Condition, ReasonOf } from "./condition.ts";
import { judgeVerdict as judge, type UpkeepMode } from "./verdict.ts";

const since = "2026-01-01T00:00:00.000Z";

const sides = ["RpcAnswering", "HeightAdvancing", "ConfigValid", "RestartSettled", "Unheld"] as const;

/** The verdict where just those conditions are watched. */
function verdictOf(reported: readonly Condition[], mode: UpkeepMode) {
  return judge(reported, { mode, watched: sides });
}

/** Each condition True, but for those that are wrong for the given reason. */
function conditions(
  wrong: Readonly<{ [T in (typeof sides)[number]]?: ReasonOf<T, "False"> }> = {},
): readonly Condition[] {
  return sides.map((type) => {
    const reason = wrong[type];
    const message = `${type} in words.`;
    const report =
      reason === undefined
        ? { type, status: "True", reason: conditionReasons[type].True[0], message }
        : { type, status: "False", reason, message };
    // The table above ties each reason to its type, which the compiler loses over the loop.
    return { ...report, since } as Condition;
  });
}

test("a sidecar that waits for adopt never calls its node right", () => {
  const adopted: Condition = {
    type: "Adopted",
    status: "False",
    reason: "WaitingForAdopt",
    message: "It waits.",
    since,
  };
  const waiting = verdictOf([...conditions(), adopted], "adopt");
  expect([waiting.level, waiting.title]).toEqual(["waiting", "The node serves; the sidecar waits for your approval"]);
  expect(verdictOf([...conditions({ RpcAnswering: "Refused" }), adopted], "adopt").level).toBe("down");
});

test("a node that is right needs nobody", () => {
  expect(verdictOf(conditions(), "enforce")).toEqual({
    level: "right",
    title: "The node is right",
    message: "Nothing to do: 5 of 5 conditions are True.",
  });
  expect(verdictOf(conditions(), "observe").message).toContain("The sidecar only observes (upkeep.mode).");
});

test("nothing is claimed before it was looked at", () => {
  expect(verdictOf([], "enforce").level).toBe("unknown");
});

test("a hold comes before everything else, and says whether the node serves", () => {
  expect(verdictOf(conditions({ Unheld: "Held", RestartSettled: "Running" }), "enforce")).toMatchObject({
    level: "held",
    message: expect.stringContaining("The node serves meanwhile.") as string,
  });
  expect(verdictOf(conditions({ Unheld: "Held", RpcAnswering: "Refused" }), "enforce").message).toContain(
    "The node does not serve.",
  );
});

test("a node that does not answer because it is being restarted is not called down", () => {
  const restarting = conditions({ RpcAnswering: "Refused", RestartSettled: "Running" });
  expect(verdictOf(restarting, "enforce")).toEqual({
    level: "working",
    title: "The sidecar is putting the node right",
    message: "Nothing for you to do yet. RestartSettled in words.",
  });
  expect(verdictOf(conditions({ RpcAnswering: "Refused", RestartSettled: "BudgetExhausted" }), "enforce").level).toBe(
    "down",
  );
});

test("a node that serves, but is not right, is distinguished from one that is down", () => {
  expect(verdictOf(conditions({ ConfigValid: "Empty" }), "enforce").title).toBe(
    "The node serves, but one thing about it is not right",
  );
  expect(verdictOf(conditions({ ConfigValid: "Empty", RestartSettled: "NoDriver" }), "enforce").title).toBe(
    "The node serves, but 2 things about it are not right",
  );
  expect(verdictOf(conditions({ HeightAdvancing: "Stalled" }), "enforce").title).toBe("The node is down");
  expect(verdictOf(conditions({ HeightAdvancing: "NoNewBlock" }), "enforce").title).toBe(
    "The node serves, but one thing about it is not right",
  );
});

test("a node that nobody looks after is not known, whatever was reported of it before", () => {
  const failing: Condition = {
    type: "UpkeepCurrent",
    status: "False",
    reason: "Failing",
    message: "The disk is gone. Each look since 03:41 has failed.",
    since,
  };
  for (const reported of [
    conditions(),
    conditions({ RestartSettled: "Running" }),
    conditions({ ConfigValid: "Empty" }),
  ]) {
    const verdict = verdictOf([...reported, failing], "enforce");
    expect([verdict.level, verdict.title]).toEqual(["unknown", "Not known: the node is not looked after"]);
    expect(verdict.message).toMatch(/^The disk is gone\. Each look since 03:41 has failed\./);
  }
  expect(verdictOf([...conditions({ ConfigValid: "Empty" }), failing], "enforce").message).toContain(
    "Wrong as far as is known: node.conf can't be used.",
  );
  // Calls are answered, or not, whoever looks after node.conf.
  expect(verdictOf([...conditions({ RpcAnswering: "Refused" }), failing], "enforce").level).toBe("down");
});

test("what is watched and was not, or could not be, looked at keeps a node from being called right", () => {
  expect(judge(conditions(), { mode: "enforce", watched: [...sides, "HeightCurrent"] })).toEqual({
    level: "unknown",
    title: "Not known yet",
    message: "The sidecar has just started and has not seen everything yet: HeightCurrent.",
  });
  const unasked: Condition = {
    type: "HeightCurrent",
    status: "Unknown",
    reason: "NoReference",
    message: "No reference endpoint answered.",
    since,
  };
  expect(verdictOf([...conditions(), unasked], "enforce")).toEqual({
    level: "unknown",
    title: "Not known: not everything can be looked at",
    message: "What is looked at is right. No reference endpoint answered.",
  });
  const off: Condition = {
    type: "NodeCliWorking",
    status: "Unknown",
    reason: "NotRun",
    message: "It is not run.",
    since,
  };
  expect(verdictOf([...conditions(), off], "enforce")).toMatchObject({
    level: "right",
    message: "Nothing to do: 5 of 6 conditions are True. Not looked at: NodeCliWorking.",
  });
});

test("a gateway whose node is unfit serves nobody: the node is down, and the cause is what is named", () => {
  const gateway = {
    type: "GatewayServing",
    status: "Unknown",
    reason: "NodeUnfit",
    message: "It refuses.",
    since,
  } as const;
  const behind = { type: "HeightCurrent", status: "False", reason: "Behind", message: "Behind.", since } as const;
  expect(verdictOf([...conditions(), behind, gateway], "enforce")).toMatchObject({
    level: "down",
    message: "It is not fit for traffic: The height lags behind the references. What to do about it stands below.",
  });
});

test("of each reason for which a condition is Unknown it is decided whether the node may be called right all the same", () => {
  const decided = Object.entries(conditionReasons).flatMap(([type, { Unknown: reasons }]) =>
    reasons.map((reason: string) => {
      // The table ties each reason to its type, which the compiler loses over the loop.
      const condition = { type, status: "Unknown", reason, message: "In words.", since } as Condition;
      const others = conditions().filter((other) => other.type !== type);
      return `${type} ${reason}: ${judge([...others, condition], { mode: "enforce", watched: [] }).level}`;
    }),
  );
  expect(decided).toEqual([
    "RpcAnswering LookFailed: unknown",
    "ChainIdExpected LookFailed: unknown",
    "HeightAdvancing Quiet: unknown",
    "HeightAdvancing NoAnswer: unknown",
    "HeightAdvancing LookFailed: unknown",
    "HeightCurrent NoReference: unknown",
    "HeightCurrent NoHeight: unknown",
    "HeightCurrent LookFailed: unknown",
    "WebSocketAnswering LookFailed: unknown",
    "GatewayServing HeadAwaited: unknown",
    "GatewayServing NodeUnfit: down",
    "GatewayServing LookFailed: unknown",
    "CallsAnswered TooFewCalls: right",
    "CallsAnswered NotServing: right",
    "CallsAnswered LookFailed: unknown",
    "FilesInForce LookFailed: unknown",
    "UpkeepCurrent NotPassed: unknown",
    "VersionSufficient NotCompared: unknown",
    "VersionSufficient LookFailed: unknown",
    "NodeCliWorking NotRun: right",
    "NodeCliWorking LookFailed: unknown",
    "AutoPruneOn NoPruneInfo: right",
    "PruneAdvancing Off: right",
    "PruneAdvancing NotPrinted: right",
    "PruneAdvancing NoPruneInfo: right",
    "MetricsArriving NotPushing: right",
    "MetricsArriving IdentityUnknown: unknown",
    "MetricsArriving LookFailed: unknown",
    "DiskSpaceLeft NotReadable: unknown",
    "DiskSpaceLeft LookFailed: unknown",
    "FileDescriptorsLeft NotCounted: right",
    "FileDescriptorsLeft LookFailed: unknown",
    "VolumeLargeEnough NotReadable: unknown",
    "VolumeLargeEnough LookFailed: unknown",
    "RollBackReady Assumed: right",
    "RollBackReady NotYet: right",
    "RollBackReady NoRestarts: right",
    "UpgradeProved Upgrading: unknown",
    "UpgradeProved Preparing: right",
    "DataSound InDoubt: unknown",
    "DataSound NotSeenWell: right",
    "DataSound NotLooked: unknown",
  ]);
});
