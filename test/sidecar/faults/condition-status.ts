import { conditionReasons } from "#status/condition-reasons.ts";
import type { ConditionStatus, ConditionType } from "#status/condition.ts";

/** The value of `gatehouse_condition` for each status. */
export const metricValues = { True: 1, False: 0, Unknown: -1 } as const satisfies Record<ConditionStatus, number>;

/** Finds the status under which a condition has a reason; throws for one that it can't have. */
export function findConditionStatus(type: ConditionType, reason: string): ConditionStatus {
  const statuses = ["True", "False", "Unknown"] as const;
  const found = statuses.find((status) => conditionReasons[type][status].some((known: string) => known === reason));
  if (found === undefined) throw new Error(`${type} has no reason ${reason}`);
  return found;
}
