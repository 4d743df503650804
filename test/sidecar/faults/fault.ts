import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType, ConditionStatus } from "#status/condition.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { conditionReasons } from "#status/condition-reasons.ts";

/** The node and sidecar affected by a fault. */
export type FaultyNode = Readonly<{
  node: FakeNode;
  stateDirectory: string;
  /** Servers and mounts of the fault, for the duration of the test. */
  resources: AsyncDisposableStack;
}>;

/** One fault, and the condition that it must cause; `shown-conditions.ts` has the verdict. */
export type Fault = Readonly<{
  /** Description of the event. */
  what: string;
  condition: readonly [ConditionType, string];
  /** Start of the condition's message, in which `…` matches anything. */
  reads: string;
  /** Set if the fault also causes another condition, which determines the verdict. */
  verdict?: "down";
  /** The sidecar's settings; a function if they are known only when the test runs. */
  settings?: (struck: FaultyNode) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Runs before the node starts. */
  prepare?: (struck: FaultyNode) => Promise<unknown>;
  /** Causes the fault once the sidecar has reported the node as healthy; absent: the fault exists from the start. */
  strike?: (struck: FaultyNode, gatewayUrl: string) => Promise<unknown>;
}>;

/** Builds a pattern for the start of a text, in which `…` matches anything. */
export function beginsAs(pattern: string): RegExp {
  const parts = pattern.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*?")}`, "s");
}

/** The headline that a node of each level may have. */
export const statesByLevel: Readonly<Record<VerdictLevel, RegExp>> = {
  paused: /^(Paused after a failed (restart|upgrade)|Node down)$/,
  down: /^Node down$/,
  waiting: /^Waiting for your approval$/,
  degraded: /^Serving, with a fault$/,
  working: /^(Restarting|Upgrading) the node$/,
  unknown: /^(Not reconciled|Starting|Upgrading the node|Partly unknown)$/,
  healthy: /^Healthy$/,
};

/** The value of `gatehouse_condition` for each status. */
export const metricValues = { True: 1, False: 0, Unknown: -1 } as const satisfies Record<ConditionStatus, number>;

/** Finds the status under which a condition has a reason; throws if it can't have that reason. */
export function findConditionStatus(type: ConditionType, reason: string): ConditionStatus {
  const statuses = ["True", "False", "Unknown"] as const;
  const found = statuses.find((status) => conditionReasons[type][status].some((known: string) => known === reason));
  if (found === undefined) throw new Error(`${type} has no reason ${reason}`);
  return found;
}
