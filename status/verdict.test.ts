import { expect, test } from "vitest";
import { conditionReasons } from "./condition-reasons.ts";
import type { Condition, ReasonOf } from "./condition.ts";
import { deriveVerdict as judge, type UpkeepMode } from "./verdict.ts";

const since = "2026-01-01T00:00:00.000Z";

const sides = ["RpcResponding", "HeightAdvancing", "ConfigReconciled", "NoRestartPending", "NotPaused"] as const;

/** The verdict if only these conditions are watched. */
function verdictOf(reported: readonly Condition[], mode: UpkeepMode) {
  return judge(reported, { mode, watched: sides });
}

/** All conditions True, except those that are wrong for the given reason. */
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
    // The table above ties each reason to its type, but the compiler loses that in the loop.
    return { ...report, since } as Condition;
  });
}

test("a sidecar that waits for adopt never calls its node right", () => {
  const waiting = verdictOf(conditions({ NotPaused: "WaitingForApproval" }), "adopt");
  expect([waiting.level, waiting.title]).toEqual([
    "waiting",
    "The node serves; the sidecar is waiting for your approval",
  ]);
  expect(
    verdictOf(conditions({ RpcResponding: "ConnectionRefused", NotPaused: "WaitingForApproval" }), "adopt").level,
  ).toBe("down");
});

test("a node that is right needs nobody", () => {
  expect(verdictOf(conditions(), "enforce")).toEqual({
    level: "healthy",
    title: "The node is healthy",
    message: "No action needed: 5 of 5 conditions are True.",
  });
  expect(verdictOf(conditions(), "observe").message).toContain("The sidecar only observes (upkeep.mode).");
});

test("nothing is claimed before it was looked at", () => {
  expect(verdictOf([], "enforce").level).toBe("unknown");
});

test("a hold comes before everything else, and says whether the node serves", () => {
  expect(verdictOf(conditions({ NotPaused: "Paused", NoRestartPending: "Running" }), "enforce")).toMatchObject({
    level: "paused",
    message: expect.stringContaining("The node keeps serving.") as string,
  });
  expect(
    verdictOf(conditions({ NotPaused: "Paused", RpcResponding: "ConnectionRefused" }), "enforce").message,
  ).toContain("The node is not serving.");
});

test("a node that does not answer because it is being restarted is not called down", () => {
  const restarting = conditions({ RpcResponding: "ConnectionRefused", NoRestartPending: "Running" });
  expect(verdictOf(restarting, "enforce")).toEqual({
    level: "working",
    title: "The sidecar is fixing the node",
    message: "No action needed yet. NoRestartPending in words.",
  });
  expect(
    verdictOf(conditions({ RpcResponding: "ConnectionRefused", NoRestartPending: "BudgetExhausted" }), "enforce").level,
  ).toBe("down");
});

test("a node that serves, but is not right, is distinguished from one that is down", () => {
  expect(verdictOf(conditions({ ConfigReconciled: "Empty" }), "enforce").title).toBe(
    "The node serves, but one check fails",
  );
  expect(verdictOf(conditions({ ConfigReconciled: "Empty", NoRestartPending: "NoDriver" }), "enforce").title).toBe(
    "The node serves, but 2 checks fail",
  );
  expect(verdictOf(conditions({ HeightAdvancing: "Stalled" }), "enforce").title).toBe("The node is down");
  expect(verdictOf(conditions({ HeightAdvancing: "NoNewBlock" }), "enforce").title).toBe(
    "The node serves, but one check fails",
  );
});

test("a node that nobody looks after is not known, whatever was reported of it before", () => {
  const failing: Condition = {
    type: "Reconciling",
    status: "False",
    reason: "Failing",
    message: "The disk is gone. Each look since 03:41 has failed.",
    since,
  };
  for (const reported of [
    conditions(),
    conditions({ NoRestartPending: "Running" }),
    conditions({ ConfigReconciled: "Empty" }),
  ]) {
    const verdict = verdictOf([...reported, failing], "enforce");
    expect([verdict.level, verdict.title]).toEqual(["unknown", "Not known: reconciliation has stopped"]);
    expect(verdict.message).toMatch(/^The disk is gone\. Each look since 03:41 has failed\./);
  }
  expect(verdictOf([...conditions({ ConfigReconciled: "Empty" }), failing], "enforce").message).toContain(
    "Other known faults: node.conf can't be used.",
  );
  // Calls get a response, or not, whoever manages node.conf.
  expect(verdictOf([...conditions({ RpcResponding: "ConnectionRefused" }), failing], "enforce").level).toBe("down");
});

test("what is watched and was not, or could not be, looked at keeps a node from being called right", () => {
  expect(judge(conditions(), { mode: "enforce", watched: [...sides, "NodeSynced"] })).toEqual({
    level: "unknown",
    title: "Not known yet",
    message: "The sidecar has just started and has not checked everything yet: NodeSynced.",
  });
  const unasked: Condition = {
    type: "NodeSynced",
    status: "Unknown",
    reason: "NoReference",
    message: "No reference endpoint answered.",
    since,
  };
  expect(verdictOf([...conditions(), unasked], "enforce")).toEqual({
    level: "unknown",
    title: "Not known: some checks can't be made",
    message: "No reference endpoint answered. All other checks pass.",
  });
  const off: Condition = {
    type: "Pruning",
    status: "Unknown",
    reason: "NotRun",
    message: "It is not run.",
    since,
  };
  expect(verdictOf([...conditions(), off], "enforce")).toMatchObject({
    level: "healthy",
    message: "No action needed: 5 of 6 conditions are True. Not checked: Pruning.",
  });
});

test("a gateway whose node is unfit serves nobody: the node is down, and the cause is what is named", () => {
  const gateway = {
    type: "GatewayServing",
    status: "Unknown",
    reason: "NodeUnhealthy",
    message: "It refuses.",
    since,
  } as const;
  const behind = { type: "NodeSynced", status: "False", reason: "Behind", message: "Behind.", since } as const;
  expect(verdictOf([...conditions(), behind, gateway], "enforce")).toMatchObject({
    level: "down",
    message: "It is not ready for traffic: The node is behind the reference nodes. See the steps below.",
  });
});

test("of each reason for which a condition is Unknown it is decided whether the node may be called right all the same", () => {
  const decided = Object.entries(conditionReasons).flatMap(([type, { Unknown: reasons }]) =>
    reasons.map((reason: string) => {
      // The table ties each reason to its type, but the compiler loses that in the loop.
      const condition = { type, status: "Unknown", reason, message: "In words.", since } as Condition;
      const others = conditions().filter((other) => other.type !== type);
      return `${type} ${reason}: ${judge([...others, condition], { mode: "enforce", watched: [] }).level}`;
    }),
  );
  expect(decided).toEqual([
    "RpcResponding CheckFailed: unknown",
    "ChainIdMatches CheckFailed: unknown",
    "HeightAdvancing Quiet: unknown",
    "HeightAdvancing NoResponse: unknown",
    "HeightAdvancing CheckFailed: unknown",
    "NodeSynced NoReference: unknown",
    "NodeSynced NoHeight: unknown",
    "NodeSynced CheckFailed: unknown",
    "WebSocketResponding CheckFailed: unknown",
    "GatewayServing WaitingForHead: unknown",
    "GatewayServing NodeUnhealthy: down",
    "GatewayServing CheckFailed: unknown",
    "CallsSucceeding TooFewCalls: healthy",
    "CallsSucceeding NotServing: healthy",
    "CallsSucceeding CheckFailed: unknown",
    "FilesLoaded CheckFailed: unknown",
    "Reconciling NotReconciledYet: unknown",
    "VersionSupported NotCompared: unknown",
    "VersionSupported CheckFailed: unknown",
    "Pruning NotRun: healthy",
    "Pruning CheckFailed: unknown",
    "MetricsArriving NotPushing: healthy",
    "MetricsArriving IdentityUnknown: unknown",
    "MetricsArriving CheckFailed: unknown",
    "DiskSpaceSufficient ReadFailed: unknown",
    "DiskSpaceSufficient CheckFailed: unknown",
    "ConnectionsAvailable NotCounted: healthy",
    "ConnectionsAvailable CheckFailed: unknown",
    "RollbackReady Assumed: healthy",
    "RollbackReady NotYet: healthy",
    "RollbackReady NoRestarts: healthy",
    "UpgradeVerified Upgrading: unknown",
    "DataIntact Inconclusive: unknown",
    "DataIntact NeverHealthy: healthy",
    "DataIntact NotInspected: unknown",
  ]);
});
