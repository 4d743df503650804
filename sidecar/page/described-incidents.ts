import { findConditionTitle, type Condition } from "#status/condition.ts";
import type { Incident } from "#status/incident.ts";
import type { Deployment } from "./advice/deployment.ts";
import { nodeAdvice } from "./advice/node-advice.ts";
import { findRunbook } from "./advice/runbooks.ts";
import { step, type AdviceTable, type Step } from "./advice/step.ts";
import { upkeepAdvice } from "./advice/upkeep-advice.ts";

const advice: AdviceTable = { ...nodeAdvice, ...upkeepAdvice };

/** A root cause as `/status` and the page show it. */
export type DescribedIncident = Readonly<{
  severity: Incident["severity"];
  type: string;
  reason: string;
  title: string;
  message: string;
  since: string;
  steps: readonly Step[];
  /** Path of the runbook on this listener. */
  runbook?: string;
  consequences: readonly Readonly<{ type: string; reason: string; title: string; message: string }>[];
}>;

/** The runbooks that this listener has, by file name. */
export type Runbooks = Pick<ReadonlyMap<string, string>, "has">;

/** Describes an incident for this deployment, with its steps in order and its runbook. Pure. */
export function describeIncident(
  { cause, severity, consequences }: Incident,
  { deployment, runbooks }: Readonly<{ deployment: Deployment; runbooks: Runbooks }>,
): DescribedIncident {
  const { type, reason, message, since } = cause;
  const runbook = findRunbook(cause);
  return {
    severity,
    type,
    reason,
    title: findConditionTitle(cause),
    message,
    since,
    steps: listSteps(cause, deployment),
    ...(runbooks.has(runbook) ? { runbook: `/runbooks/${runbook}` } : {}),
    consequences: consequences.map((one) => describeConsequence(one, message)),
  };
}

const lookFailed = step(
  "Read this process's log: its event task-failed says where the look failed. Restart the process if that stays, and report it with that line.",
);

/** Lists the steps for a condition. */
export function listSteps(cause: Condition, deployment: Deployment): readonly Step[] {
  if (cause.reason === "LookFailed") return [lookFailed];
  return advice[cause.type]?.(cause, deployment) ?? [];
}

/** Describes a consequence; a message that only repeats the cause's is left out. */
function describeConsequence(condition: Condition, message: string) {
  const { type, reason } = condition;
  const isSame = condition.message === message;
  return { type, reason, title: findConditionTitle(condition), message: isSame ? "" : condition.message };
}
