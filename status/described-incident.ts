import { findConditionTitle, type Condition } from "./condition.ts";
import type { Incident } from "./incident.ts";

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
    consequences: consequences.map((one) => describeConsequence(one, message)),
  };
}

/** Describes a consequence; omits its message if that only repeats the cause's message. */
function describeConsequence(condition: Condition, message: string) {
  const { type, reason } = condition;
  const isSame = condition.message === message;
  return { type, reason, title: findConditionTitle(condition), message: isSame ? "" : condition.message };
}
