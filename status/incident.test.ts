import { expect, test } from "vitest";
import { causes } from "./causes.ts";
import type { Condition, ConditionType } from "./condition.ts";
import { conditionReasons } from "./condition-reasons.ts";
import { writeHeadline } from "./headline.ts";
import { findIncidents } from "./incident.ts";
import { deriveVerdict } from "./verdict.ts";

const since = "2026-03-04T12:00:00.000Z";

/**
 * A condition as its watch would report it. The types tie a reason to its type and status, which the compiler can't check here.
 */
function condition(type: ConditionType, reason: string, status: Condition["status"] = "False"): Condition {
  return { type, reason, status, message: `${type} in words.`, since } as Condition;
}

const right = [condition("RpcResponding", "Responding", "True"), condition("NotPaused", "NotPaused", "True")];

/** Conditions of a node whose process has exited. */
const nodeGone = [
  condition("RpcResponding", "ConnectionRefused"),
  condition("HeightAdvancing", "NoNewBlock"),
  condition("WebSocketResponding", "ConnectionRefused"),
  condition("GatewayServing", "NodeUnhealthy", "Unknown"),
  condition("Pruning", "PruningStalled"),
  condition("MetricsArriving", "Stale"),
  condition("NoRestartPending", "NoDriver"),
];

function shown(conditions: readonly Condition[]): readonly string[] {
  return findIncidents(conditions).map(
    ({ cause, severity, consequences }) => `${severity}: ${cause.type} ${cause.reason} (${consequences.length})`,
  );
}

function headline(...conditions: readonly Condition[]): string {
  const verdict = deriveVerdict(conditions, []);
  const { state, cause } = writeHeadline(verdict, conditions, findIncidents(conditions));
  return `${state}: ${cause}`;
}

test("groups all failures caused by a stopped node into one incident", () => {
  expect(shown(nodeGone)).toEqual(["critical: RpcResponding ConnectionRefused (6)"]);
  expect(headline(...nodeGone)).toBe(
    "Node down: Its RPC refuses connections. Gatehouse can't restart it: restart.driver is none.",
  );
});

test("includes a down node in the incident of its failed restart", () => {
  const held = [condition("NotPaused", "Paused"), ...nodeGone.slice(0, 6), condition("NoRestartPending", "Paused")];
  expect(shown(held)).toEqual(["critical: NotPaused Paused (7)"]);
  expect(shown([...held, condition("ConfigReconciled", "Truncated")])).toContain(
    "warning: ConfigReconciled Truncated (0)",
  );
  expect(headline(...held)).toBe("Node down: Gatehouse makes no changes until you resume it. A restart failed.");
});

test("reports separate causes as separate incidents, the most severe first", () => {
  const apart = [
    condition("DiskSpaceSufficient", "Low"),
    condition("MetricsArriving", "JobShared"),
    ...nodeGone.slice(0, 4),
  ];
  expect(shown(apart)).toEqual([
    "critical: RpcResponding ConnectionRefused (3)",
    "warning: DiskSpaceSufficient Low (0)",
    "warning: MetricsArriving JobShared (0)",
  ]);
  expect(headline(...apart)).toBe("Node down: Its RPC refuses connections. 2 more below.");
});

test.each([
  ["ConnectionClosed", "Its RPC closes connections before responding."],
  ["Unreachable", "Its RPC can't be reached from here."],
])("does not report a node whose RPC is %s as refusing connections", (reason, words) => {
  expect(headline(condition("RpcResponding", reason))).toBe(`Node down: ${words}`);
});

test("shows a restart in progress as the current activity, with nothing to do", () => {
  const restarting = [...nodeGone.slice(0, 4), condition("NoRestartPending", "Running")];
  expect(shown(restarting)).toEqual(["working: NoRestartPending Running (4)"]);
  expect(headline(...restarting)).toBe("Restarting the node: The node is not serving. No action needed yet.");
});

test("includes unidentified metrics in the node.conf incident that causes them", () => {
  const unknown = condition("MetricsArriving", "IdentityUnknown", "Unknown");
  expect(shown([condition("ConfigReconciled", "NotAFile"), unknown])).toEqual([
    "warning: ConfigReconciled NotAFile (1)",
  ]);
  expect(shown([condition("VersionConsistent", "VersionUnknown"), unknown])).toEqual([
    "warning: VersionConsistent VersionUnknown (1)",
  ]);
});

test("does not report heights of a node on a different chain as lost blocks", () => {
  const elsewhere = [condition("ChainIdMatches", "WrongChain"), condition("HeightAdvancing", "WentBackwards")];
  expect(shown(elsewhere)).toEqual(["critical: ChainIdMatches WrongChain (1)"]);
});

test("explains failed writes by a full disk", () => {
  expect(
    shown([
      condition("DiskSpaceSufficient", "Low"),
      condition("Reconciling", "DiskFull"),
      condition("RollbackReady", "BackupFailed"),
    ]),
  ).toEqual(["warning: DiskSpaceSufficient Low (2)"]);
});

test("reports no incident for a healthy node, and counts disabled checks", () => {
  const healthy = [...right, condition("Pruning", "NotRun", "Unknown")];
  expect(shown(healthy)).toEqual([]);
  expect(headline(...right)).toBe("Healthy: All 2 checks pass.");
  expect(headline(...healthy)).toBe("Healthy: 2 checks pass; 1 not known or off.");
});

test("reports a failed check as an unknown incident, and none for a sidecar that has just started", () => {
  const blind = [...right, condition("DiskSpaceSufficient", "ReadFailed", "Unknown")];
  expect(shown(blind)).toEqual(["unknown: DiskSpaceSufficient ReadFailed (0)"]);
  expect(headline(...blind)).toMatch(/^Partly unknown: All completed checks/);
  const fresh = [...right, condition("Reconciling", "NotReconciledYet", "Unknown")];
  expect(shown(fresh)).toEqual([]);
  expect(headline(...fresh)).toMatch(/^Starting: The sidecar has just started/);
  expect(headline(...right, condition("Reconciling", "Failing"))).toMatch(/^Not reconciled: The node serves\. /);
});

test("lists only existing reasons as causes", () => {
  const unknown = causes.flatMap(({ type, reasons = [] }) => {
    const { True, False, Unknown } = conditionReasons[type];
    const known = new Set<string>([...True, ...False, ...Unknown]);
    return reasons.filter((reason) => !known.has(reason));
  });
  expect(unknown).toEqual([]);
});
