import { explains, rankCondition } from "./causes.ts";
import { type Condition, findConditionTitle } from "./condition.ts";
import { blocksTraffic, trafficConditions } from "./node-readiness.ts";
import { isSidecarWorking, isUnattended, isUnexpectedlyUnknown } from "./verdict.ts";

/**
 * Urgency of an incident. `critical`: the node serves no callers, or is unattended; `warning`: it serves callers, but something is wrong;
 * `working`: the sidecar is working on it; `unknown`: something could not be checked.
 */
type IncidentSeverity = (typeof severities)[number];

const severities = ["critical", "working", "warning", "unknown"] as const;

export type Incident = Readonly<{
  cause: Condition;
  severity: IncidentSeverity;
  /** Other conditions that are not True, and that will most likely recover when the cause does. */
  consequences: readonly Condition[];
}>;

/** Finds the root causes of all conditions that are False or Unknown, the most urgent first. Pure. */
export function findIncidents(conditions: readonly Condition[]): readonly Incident[] {
  let left: readonly Condition[] = conditions.filter(isProblem).toSorted((a, b) => rankCondition(a) - rankCondition(b));
  const found: Incident[] = [];
  for (let cause = left[0]; cause !== undefined; cause = left[0]) {
    const consequences = findConsequences(cause, left.slice(1));
    const grouped = new Set<Condition>([cause, ...consequences]);
    found.push({ cause, consequences, severity: deriveSeverity(cause, consequences) });
    left = left.filter((condition) => !grouped.has(condition));
  }
  return found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

/** Finds the conditions that a cause explains, directly or transitively. */
function findConsequences(cause: Condition, others: readonly Condition[]): readonly Condition[] {
  const direct = others.filter((other) => explains(cause, other));
  const rest = others.filter((other) => !direct.includes(other));
  const further = rest.filter((other) => direct.some((one) => explains(one, other)));
  return [...direct, ...further];
}

/** Reasons for which a condition is Unknown because its first check has not run yet. */
const notYetSeen: ReadonlySet<string> = new Set(["NotReconciledYet", "WaitingForHead"]);

/** Returns whether to report a condition. A condition that has not been checked yet is not reported. */
function isProblem(condition: Condition): boolean {
  const { status, reason } = condition;
  return (
    status === "False" || reason === "NodeUnhealthy" || (isUnexpectedlyUnknown(condition) && !notYetSeen.has(reason))
  );
}

function deriveSeverity(cause: Condition, consequences: readonly Condition[]): IncidentSeverity {
  if (isSidecarWorking(cause) || cause.reason === "Upgrading") return "working";
  const all = [cause, ...consequences];
  const isDown = all.some((one) => trafficConditions.some((type) => type === one.type) && blocksTraffic(one));
  if (isDown || (cause.type === "NotPaused" && cause.reason === "Paused") || all.some(isUnattended)) {
    return "critical";
  }
  return all.some(({ status }) => status === "False") ? "warning" : "unknown";
}

/**
 * What to do about a condition: steps in order, and the path of its runbook on this listener. `message` replaces the condition's message if
 * the page shows the rest of that message itself.
 */
export type IncidentAdvice = Readonly<{
  steps: readonly Readonly<{ text: string; command?: string }>[];
  runbook?: string;
  message?: string;
}>;

/** Describes a root cause, as shown by `/status` and the page, with advice. Pure. */
export function describeIncident(
  { cause, severity, consequences }: Incident,
  advise: (cause: Condition) => IncidentAdvice,
) {
  const { type, reason, message, since } = cause;
  return {
    severity,
    type,
    reason,
    title: findConditionTitle(cause),
    message,
    since,
    ...advise(cause),
    consequences: consequences.map((one) => ({
      type: one.type,
      reason: one.reason,
      title: findConditionTitle(one),
      // A message that repeats the cause's is omitted.
      message: one.message === message ? "" : one.message,
    })),
  };
}
