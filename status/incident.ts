import { explains, rankCondition } from "./causes.ts";
import type { Condition } from "./condition.ts";
import { barsTraffic, isAtWork, isBlind, neededForTraffic } from "./verdict.ts";

/**
 * Urgency of an incident: `critical` (the node serves nobody, or nobody looks after it), `warning` (it serves, and something is wrong),
 * `working` (the sidecar is at it), `unknown` (something could not be looked at).
 */
export type IncidentSeverity = (typeof severities)[number];

const severities = ["critical", "working", "warning", "unknown"] as const;

/** One root cause, and what is wrong because of it. */
export type Incident = Readonly<{
  cause: Condition;
  severity: IncidentSeverity;
  /** Other wrong conditions, which will most likely be right again with the cause. */
  consequences: readonly Condition[];
}>;

/** Finds the root causes of all that is wrong or not known, the most urgent first. Pure. */
export function findIncidents(conditions: readonly Condition[]): readonly Incident[] {
  let left: readonly Condition[] = conditions.filter(isProblem).toSorted((a, b) => rankCondition(a) - rankCondition(b));
  const found: Incident[] = [];
  for (let cause = left[0]; cause !== undefined; cause = left[0]) {
    const consequences = findConsequences(cause, left.slice(1));
    const grouped = new Set<Condition>([cause, ...consequences]);
    found.push({ cause, consequences, severity: judgeSeverity(cause, consequences) });
    left = left.filter((condition) => !grouped.has(condition));
  }
  return found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

/** Finds the conditions that follow from a cause, directly or through one that does. */
function findConsequences(cause: Condition, others: readonly Condition[]): readonly Condition[] {
  const direct = others.filter((other) => explains(cause, other));
  const rest = others.filter((other) => !direct.includes(other));
  const further = rest.filter((other) => direct.some((one) => explains(one, other)));
  return [...direct, ...further];
}

/** Reasons for which a condition is Unknown because nobody has had the time to look. */
const notYetSeen: ReadonlySet<string> = new Set(["NotReconciledYet", "WaitingForHead"]);

/** Whether a condition is to be reported; one that has not been looked at yet is not. */
function isProblem(condition: Condition): boolean {
  const { status, reason } = condition;
  return status === "False" || reason === "NodeUnhealthy" || (isBlind(condition) && !notYetSeen.has(reason));
}

function judgeSeverity(cause: Condition, consequences: readonly Condition[]): IncidentSeverity {
  if (isAtWork(cause) || cause.reason === "Upgrading") return "working";
  const all = [cause, ...consequences];
  const isDown = all.some((one) => neededForTraffic.some((type) => type === one.type) && barsTraffic(one));
  if (
    isDown ||
    cause.type === "NotPaused" ||
    all.some(({ type, status }) => type === "Reconciling" && status === "False")
  ) {
    return "critical";
  }
  return all.some(({ status }) => status === "False") ? "warning" : "unknown";
}
