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
    consequences: consequences.map((one) => ({
      type: one.type,
      reason: one.reason,
      title: findConditionTitle(one),
      // A message that repeats the cause's is omitted.
      message: one.message === message ? "" : one.message,
    })),
  };
}
