import type { Condition, ConditionType } from "#status/condition.ts";
import type { Deployment } from "./deployment.ts";

/** One thing to do, in order; `command` is for a shell, as it stands. */
export type Step = Readonly<{ text: string; command?: string }>;

/** What to do about a side that is wrong or not known, on this deployment. */
export type Advice = (condition: Condition, deployment: Deployment) => readonly Step[];

/** The advice for several conditions. */
export type AdviceTable = Readonly<Partial<Record<ConditionType, Advice>>>;

/** A step, with its command where this deployment has one. */
export function step(text: string, command?: string): Step {
  return command === undefined ? { text } : { text, command };
}
