import { blocksTraffic, trafficConditions } from "./node-readiness.ts";
import type { Condition, ConditionType } from "./condition.ts";

/**
 * State of the node as a whole, worst first. `paused`: the sidecar has stopped acting; `down`: the node serves no traffic; `waiting`: it
 * serves, and the sidecar is awaiting an operator's approval; `degraded`: it serves, but something is wrong; `working`: the sidecar is
 * about to fix it; `unknown`: it is unattended, or something was not or could not be checked; `healthy`.
 */
export type VerdictLevel = (typeof verdictLevels)[number];

export const verdictLevels = ["paused", "down", "waiting", "degraded", "working", "unknown", "healthy"] as const;

export type Verdict = Readonly<{
  level: VerdictLevel;
  /** Why the level is still unknown: the checks that have not been made since the start. */
  awaited: readonly string[];
}>;

/** Reasons for `NoRestartPending` that mean that the sidecar itself is working on the node. */
const progressReasons: ReadonlySet<string> = new Set(["Running", "Settling"]);

/**
 * Acceptable reasons for which a condition is Unknown: the settings require it, the node has nothing to check, or it is only unknown
 * whether a later fault could be repaired. With any other reason, the node isn't reported as healthy.
 */
const excusedReasons: ReadonlySet<string> = new Set([
  "NotRun",
  "Disabled",
  "NotReported",
  "NotPushing",
  "NotCounted",
  "NoRestarts",
  "Assumed",
  "NotYet",
  "NeverHealthy",
  "NotChecked",
  "TooFewCalls",
  "NotServing",
]);

/** Returns whether the node is unattended: nothing is checked or corrected. */
export function isUnattended({ type, reason }: Condition): boolean {
  return type === "Reconciling" && (reason === "Failing" || reason === "Stuck");
}

export function isSidecarWorking({ type, status, reason }: Condition): boolean {
  return type === "NoRestartPending" && status === "False" && progressReasons.has(reason);
}

export function isUnexpectedlyUnknown({ status, reason }: Readonly<{ status: string; reason: string }>): boolean {
  return status === "Unknown" && !excusedReasons.has(reason);
}

export function servesTraffic(conditions: readonly Condition[]): boolean {
  return !conditions.some(
    (condition) => trafficConditions.some((type) => type === condition.type) && blocksTraffic(condition),
  );
}

/**
 * Derives the verdict on the node from its conditions. Pure.
 *
 * @param watched conditions enabled by the settings: the node isn't healthy before all of them have been checked.
 */
export function deriveVerdict(conditions: readonly Condition[], watched: readonly ConditionType[]): Verdict {
  const pause = conditions.find(({ type }) => type === "NotPaused")?.reason;
  const isAttended = !conditions.some(isUnattended);
  const awaited = findAwaited(conditions, watched);
  if (pause === "Paused") return { level: "paused", awaited: [] };
  if (isAttended && conditions.some(isSidecarWorking)) return { level: "working", awaited: [] };
  if (!servesTraffic(conditions)) return { level: "down", awaited: [] };
  if (!isAttended) return { level: "unknown", awaited: [] };
  if (pause === "WaitingForApproval") return { level: "waiting", awaited: [] };
  if (conditions.some(({ status }) => status === "False")) return { level: "degraded", awaited: [] };
  const isKnown = awaited.length === 0 && !conditions.some(isUnexpectedlyUnknown);
  return { level: isKnown ? "healthy" : "unknown", awaited };
}

function findAwaited(conditions: readonly Condition[], watched: readonly ConditionType[]): readonly string[] {
  const missing = watched.filter((type) => !conditions.some((condition) => condition.type === type));
  const isNew = conditions.some(({ type, reason }) => type === "Reconciling" && reason === "NotReconciledYet");
  return missing.length === 0 && isNew ? ["node.conf"] : missing;
}
