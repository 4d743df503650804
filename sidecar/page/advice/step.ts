import type { Condition, ConditionType } from "#status/condition.ts";
import type { Deployment } from "./deployment.ts";

/** One step in a list; `command` is a ready-to-run shell command. */
export type Step = Readonly<{ text: string; command?: string }>;

/** Lists the steps for a false or unknown condition on this deployment. */
export type Advice = (condition: Condition, deployment: Deployment) => readonly Step[];

export type AdviceTable = Readonly<Partial<Record<ConditionType, Advice>>>;

/** Builds a step, with its command if this deployment has one. */
export function step(text: string, command?: string): Step {
  return command === undefined ? { text } : { text, command };
}
