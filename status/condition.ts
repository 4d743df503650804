import { conditionReasons } from "./condition-reasons.ts";

/**
 * What the sidecar says about one side of the node, in the manner of Kubernetes conditions. `True` always means that this side
 * is right, so that one alert on `False` covers all of them.
 */
export type Condition = ConditionReport &
  Readonly<{
    /** When the status or the reason last changed, ISO 8601. */
    since: string;
  }>;

/** A condition as the part that watches it says it. `reason` is one word for machines, and belongs to its type and status. */
export type ConditionReport<Type extends ConditionType = ConditionType> = {
  [T in Type]: {
    [S in ConditionStatus]: Readonly<{
      type: T;
      status: S;
      reason: (typeof conditionReasons)[T][S][number];
      /** What is so, where, and what to do if it is wrong. */
      message: string;
    }>;
  }[ConditionStatus];
}[Type];

/** The reasons that a condition can have under a status. */
export type ReasonOf<
  Type extends ConditionType,
  Status extends ConditionStatus,
> = (typeof conditionReasons)[Type][Status][number];

/** `True`: right; `False`: wrong, somebody has to know; `Unknown`: can't be told, and why. */
export type ConditionStatus = "True" | "False" | "Unknown";

export type ConditionType = keyof typeof conditionReasons;

/** Every side of the node that is told about, in the order in which it is shown. */
export const conditionTypes = Object.keys(conditionReasons) as readonly ConditionType[];
