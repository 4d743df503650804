import type { Condition } from "#status/condition.ts";
import { type Deployment, step, type AdviceTable, type Step } from "./deployment.ts";
import { nodeAdvice } from "./node-advice.ts";
import { upkeepAdvice } from "./upkeep-advice.ts";

const advice: AdviceTable = { ...nodeAdvice, ...upkeepAdvice };

const checkFailed = step(
  "Find the event task-failed in this process's log: it has the error. If it keeps failing, restart the process and report a bug with that line.",
);

export function listSteps(cause: Condition, deployment: Deployment): readonly Step[] {
  if (cause.reason === "CheckFailed") return [checkFailed];
  return advice[cause.type]?.(cause, deployment) ?? [];
}
