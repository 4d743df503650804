import type { Condition } from "#status/condition.ts";
import type { Deployment } from "./deployment.ts";
import { nodeAdvice } from "./node-advice.ts";
import { step, type AdviceTable, type Step } from "./step.ts";
import { upkeepAdvice } from "./upkeep-advice.ts";

const advice: AdviceTable = { ...nodeAdvice, ...upkeepAdvice };

const lookFailed = step(
  "Read this process's log: its event task-failed says where the look failed. Restart the process if that stays, and report it with that line.",
);

export function listSteps(cause: Condition, deployment: Deployment): readonly Step[] {
  if (cause.reason === "CheckFailed") return [lookFailed];
  return advice[cause.type]?.(cause, deployment) ?? [];
}
