import { createObservation, type Observation } from "#health/observation.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import { buildPruneCondition, type PruneProgress } from "./prune-progress.ts";

/**
 * State of auto-pruning compared with the desired state. `off`: it should be on; `idle`: the reason why it isn't enabled; `command`: the
 * command with which the operator enables it.
 */
export type AutoPrune = Readonly<
  | { kind: "unknown" }
  | { kind: "on" | "offAsDesired" }
  | { kind: "staysOn"; message: string }
  | { kind: "off"; idle: string; command: string }
  | { kind: "notSwitchedOn"; reason: ReasonOf<"AutoPruneEnabled", "False">; message: string }
>;

/** A check of PruneInfo: its time (monotonic), the node's height at that time, and `prune.stalledAfterMs`. */
export type PruneCheck = Readonly<{
  info: PruneInfo;
  nowMs: number;
  height: number | undefined;
  stalledAfterMs: number;
}>;

/** What is known about pruning. */
export type PruneObservation = Readonly<{
  /** Absent before the first iteration. */
  autoPrune: AutoPrune | undefined;
  /** Progress of pruning, and the check by which it was last judged. */
  progress: PruneProgress | undefined;
  looked: PruneCheck | undefined;
  /** PruneInfo for which auto-pruning was last enabled, so that the sidecar acts on each PruneInfo only once. */
  prunedOn: PruneInfo | undefined;
  /** The node_cli run that enables auto-pruning. */
  running: Promise<void> | undefined;
}>;

export type ObservedPruning = Observation<PruneObservation>;

/** Creates an empty observation of pruning. */
export function observePruning(onChange?: () => void): ObservedPruning {
  return createObservation<PruneObservation>(
    {
      autoPrune: undefined,
      progress: undefined,
      looked: undefined,
      prunedOn: undefined,
      running: undefined,
    },
    onChange,
  );
}

/** Reports whether auto-pruning is as desired, and whether pruning advances. Pure. */
export function derivePruneConditions({ autoPrune, progress, looked }: PruneObservation): readonly ConditionReport[] {
  return [
    ...(autoPrune === undefined ? [] : [deriveAutoPruneOn(autoPrune)]),
    ...(progress === undefined || looked === undefined
      ? []
      : [autoPrune?.kind === "unknown" ? noPruneInfo : buildPruneCondition(looked.info, progress, looked)]),
  ];
}

/** Condition while node_cli doesn't respond; its earlier output no longer counts. */
const noPruneInfo: ConditionReport<"PruneAdvancing"> = {
  type: "PruneAdvancing",
  status: "Unknown",
  reason: "NoPruneInfo",
  message: "Pruning progress is unknown: node_cli prune --get printed nothing at the last look (NodeCliWorking).",
};

function deriveAutoPruneOn(found: AutoPrune): ConditionReport<"AutoPruneEnabled"> {
  const type = "AutoPruneEnabled";
  switch (found.kind) {
    case "unknown": {
      const message =
        "Auto-pruning status is unknown: node_cli prune --get has printed nothing yet, or nothing at the last look, that shows it (NodeCliWorking).";
      return { type, status: "Unknown", reason: "NoPruneInfo", message };
    }
    case "on":
      return { type, status: "True", reason: "Enabled", message: "enable_auto_prune reads 1." };
    case "offAsDesired":
      return { type, status: "True", reason: "DisabledBySetting", message: "Auto-pruning is off, as desired." };
    case "staysOn":
      return { type, status: "False", reason: "CannotDisable", message: found.message };
    case "off": {
      const message = `Auto-pruning is off, and ${found.idle}: \`${found.command}\` switches it on.`;
      return { type, status: "False", reason: "Disabled", message };
    }
    case "notSwitchedOn":
      return { type, status: "False", reason: found.reason, message: found.message };
  }
}
