import type { Observation } from "#health/observation.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import type { Permissions } from "../adoption/authority.ts";
import type { CommandText } from "../command-text.ts";

/** `off`: it should be on but isn't; `idle`: why it isn't enabled; `command`: enables it manually. */
export type AutoPrune = Readonly<
  | { kind: "unknown" }
  | { kind: "on" | "offAsDesired" }
  | { kind: "staysOn"; message: string }
  | { kind: "off"; idle: string; authority: Permissions; command: string }
  | { kind: "notSwitchedOn"; reason: ReasonOf<"Pruning", "False">; message: string }
>;

/** A check of PruneInfo: its time (monotonic), the node's height at that time, and the time after which pruning counts as stalled. */
type PruneCheck = Readonly<{
  info: PruneInfo;
  nowMs: number;
  height: number | undefined;
  stalledAfterMs: number;
}>;

export type PruningState = Readonly<{
  /** Why node_cli did not report PruneInfo at the last query; undefined if it did. */
  tool?: ConditionReport<"Pruning"> | undefined;
  autoPrune?: AutoPrune | undefined;
  progress?: PruneProgress | undefined;
  lastCheck?: PruneCheck | undefined;
  /** PruneInfo on which auto-pruning was last enabled, so that the sidecar acts on each PruneInfo only once. */
  prunedOn?: PruneInfo | undefined;
  running?: Promise<void> | undefined;
}>;

export type ObservedPruning = Observation<PruningState>;

export function derivePruneConditions(seen: PruningState, command: CommandText): readonly ConditionReport[] {
  const { tool, autoPrune } = seen;
  if (tool !== undefined) return [tool];
  return autoPrune === undefined || autoPrune.kind === "unknown" ? [] : [derivePruning(autoPrune, seen, command)];
}

function derivePruning(
  found: Exclude<AutoPrune, { kind: "unknown" }>,
  { progress, lastCheck }: Pick<PruningState, "progress" | "lastCheck">,
  command: CommandText,
): ConditionReport<"Pruning"> {
  const type = "Pruning";
  switch (found.kind) {
    case "on": {
      const enabledText = "enable_auto_prune reads 1.";
      if (progress === undefined || lastCheck?.info.autoPrune !== true) {
        return { type, status: "True", reason: "Enabled", message: enabledText };
      }
      const { isStalled, message } = evaluatePruneProgress(lastCheck.info, progress, lastCheck);
      return isStalled
        ? { type, status: "False", reason: "PruningStalled", message }
        : { type, status: "True", reason: "Enabled", message: `${enabledText} ${message}` };
    }
    case "offAsDesired":
      return { type, status: "True", reason: "DisabledBySetting", message: "Auto-pruning is off, as desired." };
    case "staysOn":
      return { type, status: "False", reason: "CannotDisable", message: found.message };
    case "off": {
      const message = `Auto-pruning is off, and ${found.idle}${describeRemedy(found, command)}`;
      return { type, status: "False", reason: "Disabled", message };
    }
    case "notSwitchedOn":
      return { type, status: "False", reason: found.reason, message: found.message };
  }
}

/** Describes who enables pruning: the operator, if the sidecar never acts, or else the sidecar. */
function describeRemedy({ authority, command: enable }: AutoPruneOff, command: CommandText): string {
  if (authority === "observes") return `: enable it with \`${enable}\`.`;
  if (authority === "waits") return `. Gatehouse enables it once you approve with \`${command("adopt")}\`.`;
  return ". Gatehouse enables it once that is resolved.";
}

type AutoPruneOff = Extract<AutoPrune, { kind: "off" }>;

/** Progress of pruning, and the chain's height when pruning last advanced. The value is replaced at each query. */
type PruneProgress = Readonly<{
  reserved: bigint | undefined;
  /** Time (monotonic) at which pruning last advanced, or at which progress was first observed. */
  sinceMs: number;
  sinceHeight: number | undefined;
}>;

export function trackPruning(
  previousProgress: PruneProgress | undefined,
  info: PruneInfo,
  nowMs: number,
  height: number | undefined,
): PruneProgress {
  const reservedVersion = info.realPruneReservedVersion;
  if (previousProgress !== undefined && previousProgress.reserved === reservedVersion) return previousProgress;
  return { reserved: reservedVersion, sinceMs: nowMs, sinceHeight: height };
}

/** Progress of enabled pruning. `isStalled`: it hasn't advanced for a while although new blocks arrived. */
type PruneAdvance = Readonly<{ isStalled: boolean; message: string }>;

/** Describes how far enabled pruning is. On a young chain whose blocks are all within the reserved window, there is nothing to prune yet. Pure. */
export function evaluatePruneProgress(
  info: PruneInfo,
  progress: PruneProgress,
  { nowMs, height, stalledAfterMs }: Readonly<{ nowMs: number; height: number | undefined; stalledAfterMs: number }>,
): PruneAdvance {
  const { reserved: reservedVersion, sinceHeight, sinceMs } = progress;
  if (reservedVersion === undefined) {
    const message = "node_cli prune --get prints no real_prune_reserved_version, which would show how far pruning is.";
    return { isStalled: false, message };
  }
  const blocks = height === undefined || sinceHeight === undefined ? 0 : height - sinceHeight;
  const { flushedVersion, reservedWindow } = info;
  const isYoung = flushedVersion !== undefined && reservedWindow !== undefined && flushedVersion <= reservedWindow;
  if (isYoung && reservedVersion === 0n) {
    const message = `The chain is at version ${flushedVersion}, within the retained window of ${reservedWindow}.`;
    return { isStalled: false, message };
  }
  if (nowMs - sinceMs < stalledAfterMs || blocks <= 0) {
    return { isStalled: false, message: `Versions before ${reservedVersion} are pruned.` };
  }
  const time = stalledAfterMs < 120_000 ? `${stalledAfterMs / 1_000} s` : `${Math.round(stalledAfterMs / 60_000)} min`;
  const message =
    `Auto-pruning is on, but real_prune_reserved_version has been ${reservedVersion} for more than ${time} while ` +
    `blocks advanced; check the node's log and its disk, then restart it.`;
  return { isStalled: true, message };
}
