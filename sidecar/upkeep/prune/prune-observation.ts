import { createObservation, type Observation } from "#health/observation.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import { evaluatePruneProgress, type PruneProgress } from "./prune-progress.ts";

/**
 * State of auto-pruning compared with the desired state. `off`: it should be on; `idle`: the reason why it isn't enabled; `command`: the
 * command with which the operator enables it.
 */
export type AutoPrune = Readonly<
  | { kind: "unknown" }
  | { kind: "on" | "offAsDesired" }
  | { kind: "staysOn"; message: string }
  | { kind: "off"; idle: string; command: string }
  | { kind: "notSwitchedOn"; reason: ReasonOf<"Pruning", "False">; message: string }
>;

/** A check of PruneInfo: its time (monotonic), the node's height at that time, and the time after which pruning counts as stalled. */
export type PruneCheck = Readonly<{
  info: PruneInfo;
  nowMs: number;
  height: number | undefined;
  stalledAfterMs: number;
}>;

/** What is known about pruning. */
export type PruneObservation = Readonly<{
  /** Why node_cli did not report PruneInfo at the last query; undefined if it did. */
  tool?: ConditionReport<"Pruning"> | undefined;
  /** Absent before the first iteration. */
  autoPrune?: AutoPrune | undefined;
  /** Progress of pruning, and the check that last assessed it. */
  progress?: PruneProgress | undefined;
  lastCheck?: PruneCheck | undefined;
  /** PruneInfo for which auto-pruning was last enabled, so that the sidecar acts on each PruneInfo only once. */
  prunedOn?: PruneInfo | undefined;
  /** The node_cli run that enables auto-pruning. */
  running?: Promise<void> | undefined;
}>;

export type ObservedPruning = Observation<PruneObservation>;

/** Creates an empty observation of pruning. */
export function observePruning(onChange?: () => void): ObservedPruning {
  return createObservation<PruneObservation>({}, onChange);
}

/** Reports whether pruning is as desired, and advances. Pure. */
export function derivePruneConditions(seen: PruneObservation): readonly ConditionReport[] {
  const { tool, autoPrune } = seen;
  if (tool !== undefined) return [tool];
  return autoPrune === undefined || autoPrune.kind === "unknown" ? [] : [derivePruning(autoPrune, seen)];
}

function derivePruning(
  found: Exclude<AutoPrune, { kind: "unknown" }>,
  { progress, lastCheck }: Pick<PruneObservation, "progress" | "lastCheck">,
): ConditionReport<"Pruning"> {
  const type = "Pruning";
  switch (found.kind) {
    case "on": {
      const enabled = "enable_auto_prune reads 1.";
      if (progress === undefined || lastCheck?.info.autoPrune !== true) {
        return { type, status: "True", reason: "Enabled", message: enabled };
      }
      const { isStalled, message } = evaluatePruneProgress(lastCheck.info, progress, lastCheck);
      return isStalled
        ? { type, status: "False", reason: "PruningStalled", message }
        : { type, status: "True", reason: "Enabled", message: `${enabled} ${message}` };
    }
    case "offAsDesired":
      return { type, status: "True", reason: "DisabledBySetting", message: "Auto-pruning is off, as desired." };
    case "staysOn":
      return { type, status: "False", reason: "CannotDisable", message: found.message };
    case "off": {
      const message = `Auto-pruning is off, and ${found.idle}: enable it with \`${found.command}\`.`;
      return { type, status: "False", reason: "Disabled", message };
    }
    case "notSwitchedOn":
      return { type, status: "False", reason: found.reason, message: found.message };
  }
}
