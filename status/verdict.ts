import { barsTraffic, neededForTraffic } from "./node-readiness.ts";
import { findConditionTitle, type Condition, type ConditionType } from "./condition.ts";

/** The sidecar's mode: wait for `gatehouse adopt`, act at once, or only observe. */
export type UpkeepMode = "adopt" | "enforce" | "observe";

/**
 * State of the node as a whole, worst first. `held`: the sidecar has stopped acting; `down`: the node serves no traffic; `waiting`: it
 * serves, and the sidecar is awaiting an operator's approval; `wrong`: it serves, but not everything is right; `working`: the sidecar is
 * about to fix it; `unknown`: it is unattended, or something was not or could not be checked; `right`.
 */
export type VerdictLevel = (typeof verdictLevels)[number];

export const verdictLevels = ["paused", "down", "waiting", "degraded", "working", "unknown", "healthy"] as const;

/** Verdict on the node: its state, and whether an operator has to act. */
export type Verdict = Readonly<{ level: VerdictLevel; title: string; message: string }>;

export type VerdictScope = Readonly<{
  mode: UpkeepMode;
  /** Conditions enabled by the settings: the node isn't reported as right before all of them have been checked. */
  watched: readonly ConditionType[];
}>;

/** Reasons for `NoRestartPending` that mean that the sidecar itself is working on the node. */
const atWork: ReadonlySet<string> = new Set(["Running", "Settling"]);

/**
 * Acceptable reasons for which a condition is Unknown: the settings require it, the node has nothing to check, or it is only unknown
 * whether a later fault could be repaired. With any other reason, the node isn't reported as right.
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

/** Returns whether the sidecar itself is working on the node's process. */
export function isSidecarWorking({ type, status, reason }: Condition): boolean {
  return type === "NoRestartPending" && status === "False" && atWork.has(reason);
}

/** Returns whether a condition is Unknown although it should be known. */
export function isUnexpectedlyUnknown({ status, reason }: Condition): boolean {
  return status === "Unknown" && !excusedReasons.has(reason);
}

/** Returns whether no known condition blocks traffic to the node. */
export function servesTraffic(conditions: readonly Condition[]): boolean {
  return findBarring(conditions).length === 0;
}

function findBarring(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter(
    (condition) => neededForTraffic.some((type) => type === condition.type) && barsTraffic(condition),
  );
}

/** Derives the verdict on the node from its conditions. Pure. */
export function deriveVerdict(conditions: readonly Condition[], { mode, watched }: VerdictScope): Verdict {
  const find = (type: ConditionType) => conditions.find((condition) => condition.type === type);
  const wrong = conditions.filter(({ status }) => status === "False");
  const bars = findBarring(conditions);
  const serves = bars.length === 0;
  const pause = find("NotPaused")?.reason;
  if (pause === "Paused") return buildHeldVerdict(serves);
  const unattended = conditions.find(isUnattended);
  const restart = find("NoRestartPending");
  if (unattended === undefined && restart !== undefined && isSidecarWorking(restart)) {
    const message = `No action needed yet. ${restart.message}`;
    return { level: "working", title: "The sidecar is fixing the node", message };
  }
  if (!serves) {
    const failed = bars.filter(({ status }) => status === "False");
    const causes = [failed, wrong].find((some) => some.length > 0) ?? bars;
    const message = `It is not ready for traffic: ${formatTitles(causes)}. See the steps below.`;
    return { level: "down", title: "The node is down", message };
  }
  if (unattended !== undefined) return buildUnattendedVerdict(unattended, wrong);
  if (pause === "WaitingForApproval") return waiting;
  if (wrong.length > 0) return buildFaultyVerdict(wrong);
  return findUnknownVerdict(conditions, watched) ?? buildRightVerdict(conditions, mode);
}

function buildHeldVerdict(serves: boolean): Verdict {
  const message =
    "A restart or an upgrade failed, and the sidecar makes no changes until you resume it. " +
    (serves ? "The node keeps serving." : "The node is not serving.");
  return { level: "paused", title: "Paused: the node needs your attention", message };
}

const waiting: Verdict = {
  level: "waiting",
  title: "The node serves; the sidecar is waiting for your approval",
  message: "It has changed nothing. The plan and the command to approve it are below.",
};

/** Builds the verdict for a failing upkeep. Other faults were found before the upkeep failed, or are found by other components of the sidecar. */
function buildUnattendedVerdict({ message }: Condition, wrong: readonly Condition[]): Verdict {
  const others = wrong.filter(({ type }) => type !== "Reconciling");
  const also = others.length === 0 ? "" : ` Other known faults: ${formatTitles(others)}.`;
  return { level: "unknown", title: "Not known: reconciliation has stopped", message: `${message}${also}` };
}

function buildFaultyVerdict(wrong: readonly Condition[]): Verdict {
  const sides = wrong.length === 1 ? "one check fails" : `${wrong.length} checks fail`;
  const isServed = wrong.every(({ type }) => type !== "CallsSucceeding");
  const served = isServed ? "Clients are still served" : "Some calls fail";
  const message = `${served}. ${formatTitles(wrong)}: see the steps below.`;
  return { level: "degraded", title: `The node serves, but ${sides}`, message };
}

function findUnknownVerdict(conditions: readonly Condition[], watched: readonly ConditionType[]): Verdict | undefined {
  const waitsFor = watched.filter((type) => !conditions.some((condition) => condition.type === type));
  const isNew = conditions.some(({ type, reason }) => type === "Reconciling" && reason === "NotReconciledYet");
  if (waitsFor.length > 0 || isNew) {
    const message = `The sidecar has just started and has not checked everything yet: ${waitsFor.join(", ") || "node.conf"}.`;
    return { level: "unknown", title: "Not known yet", message };
  }
  const blind = conditions.filter(isUnexpectedlyUnknown);
  if (blind.length === 0) return undefined;
  const message = `${blind.map((condition) => condition.message).join(" ")} All other checks pass.`;
  return { level: "unknown", title: "Not known: some checks can't be made", message };
}

function buildRightVerdict(conditions: readonly Condition[], mode: UpkeepMode): Verdict {
  const unasked = conditions.filter(({ status }) => status === "Unknown");
  const checked = `${conditions.length - unasked.length} of ${conditions.length} conditions are True`;
  const others = unasked.length === 0 ? "" : ` Not checked: ${unasked.map(({ type }) => type).join(", ")}.`;
  const observing = mode === "observe" ? " The sidecar only observes (upkeep.mode)." : "";
  return {
    level: "healthy",
    title: "The node is healthy",
    message: `No action needed: ${checked}.${others}${observing}`,
  };
}

function formatTitles(conditions: readonly Condition[]): string {
  return conditions.map((condition) => findConditionTitle(condition)).join("; ");
}
