import type { Condition, ConditionType } from "#status/condition.ts";
import type { Deployment } from "./deployment.ts";

/** One thing to do, in order; `command` is for a shell, as it stands. */
export type Step = Readonly<{ text: string; command?: string }>;

/** Lists the steps for a condition that is wrong or not known, on this deployment. */
export type Advice = (condition: Condition, deployment: Deployment) => readonly Step[];

/** Advice by condition. */
export type AdviceTable = Readonly<Partial<Record<ConditionType, Advice>>>;

/** Builds a step, with its command if this deployment has one. */
export function step(text: string, command?: string): Step {
  return command === undefined ? { text } : { text, command };
}
