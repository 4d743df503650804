import { expect, test } from "vitest";
import { conditionReasons } from "./condition-reasons.ts";
import type { Condition, ReasonOf } from "./condition.ts";
import { deriveVerdict } from "./verdict.ts";

const since = "2026-01-01T00:00:00.000Z";

const sides = ["RpcResponding", "HeightAdvancing", "ConfigReconciled", "NoRestartPending", "NotPaused"] as const;

const levelOf = (reported: readonly Condition[]) => deriveVerdict(reported, sides).level;

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

type Wrong = Parameters<typeof conditions>[0];

test.each<[string, Wrong, string]>([
  ["everything is True", {}, "healthy"],
  ["the sidecar is waiting for approval", { NotPaused: "WaitingForApproval" }, "waiting"],
  [
    "the sidecar is waiting for approval of a node that is down",
    { RpcResponding: "ConnectionRefused", NotPaused: "WaitingForApproval" },
    "down",
  ],
  [
    "the sidecar is paused, whatever else is wrong",
    { NotPaused: "Paused", NoRestartPending: "Running", RpcResponding: "TimedOut" },
    "paused",
  ],
  ["the node is being restarted", { RpcResponding: "ConnectionRefused", NoRestartPending: "Running" }, "working"],
  [
    "the node is down and can't be restarted",
    { RpcResponding: "ConnectionRefused", NoRestartPending: "BudgetExhausted" },
    "down",
  ],
  ["node.conf is wrong", { ConfigReconciled: "Empty" }, "degraded"],
  ["the node has stalled", { HeightAdvancing: "Stalled" }, "down"],
  ["the chain may have stalled", { HeightAdvancing: "NoNewBlock" }, "degraded"],
])("if %s (%j), reports %s", (_, wrong, level) => {
  expect(levelOf(conditions(wrong))).toBe(level);
});

test("reports a serving node as unknown while the reconciler fails", () => {
  const failing: Condition = { type: "Reconciling", status: "False", reason: "Failing", message: "Failed.", since };
  for (const wrong of [{}, { NoRestartPending: "Running" }, { ConfigReconciled: "Empty" }] as const) {
    expect(levelOf([...conditions(wrong), failing])).toBe("unknown");
  }
  // Whether calls get a response does not depend on who manages node.conf.
  expect(levelOf([...conditions({ RpcResponding: "ConnectionRefused" }), failing])).toBe("down");
});

test("reports no node as healthy before every check has run", () => {
  expect(deriveVerdict([], sides)).toEqual({ level: "unknown", awaited: sides });
  expect(deriveVerdict(conditions(), [...sides, "NodeSynced"])).toEqual({ level: "unknown", awaited: ["NodeSynced"] });
});
