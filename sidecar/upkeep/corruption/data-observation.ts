import { createObservation, type Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandWords } from "../command-words.ts";
import type { OwnRestore } from "../state/data-evidence.ts";
import type { DataJudgement } from "./judge-data.ts";

/** Readiness for an automatic restore of the data; `used`: the snapshot that is there was used already. */
export type RestoreReadiness = Readonly<
  | { kind: "off" | "unchecked" }
  | { kind: "ready"; sources: readonly string[] }
  | { kind: "not-ready"; problems: readonly string[] }
  | { kind: "used"; by: OwnRestore }
>;

/** A judgement, and what is done about it, or can be, as a sentence. They are noted together: each next step belongs to its judgement. */
export type DataFinding = Readonly<{ judgement: DataJudgement; next: string | undefined }>;

/** State of the node's data, as far as it is known. */
export type DataObservation = Readonly<{
  /** Finding of the last look; undefined before the first. */
  found: DataFinding | undefined;
  /** Failure of the last look, and the time of the next one (wall clock; absent until the failed one has ended); undefined if it did not fail. */
  failed: Readonly<{ why: string; againAtMs?: number }> | undefined;
  readiness: RestoreReadiness;
  /** The last automatic restore that is proved, while it is reported. */
  restored: OwnRestore | undefined;
  /** A look that is under way. */
  looking: Promise<void> | undefined;
}>;

export type ObservedData = Observation<DataObservation>;

/** Creates an observation with nothing known yet. `isOff`: the data are not to be restored automatically. */
export function observeData(isOff: boolean, onChange?: () => void): ObservedData {
  const nothing = { found: undefined, failed: undefined, restored: undefined, looking: undefined };
  return createObservation<DataObservation>({ ...nothing, readiness: { kind: isOff ? "off" : "unchecked" } }, onChange);
}

/** Reports whether the data are whole, and whether they could be restored automatically. Pure. */
export function deriveDataConditions(seen: DataObservation, command: CommandWords): readonly ConditionReport[] {
  const found = seen.found === undefined ? undefined : deriveDataSound(seen.found, seen, command);
  const sound = seen.failed === undefined ? found : deriveNotLooked(seen.failed, found);
  return [...(sound === undefined ? [] : [sound]), ...deriveRestoreReady(seen.readiness)];
}

/** Reports a look that failed. The finding before it no longer counts, but a fault is still mentioned. */
function deriveNotLooked(
  { why, againAtMs }: NonNullable<DataObservation["failed"]>,
  before: ConditionReport<"DataSound"> | undefined,
): ConditionReport<"DataSound"> {
  const again =
    againAtMs === undefined
      ? "See that the disks of the data and of the snapshots answer (stat -f, dmesg); no other look begins before this one has ended."
      : `The next look is at ${new Date(againAtMs).toISOString()}.`;
  const isWrong = before?.status === "False" || before?.reason === "InDoubt";
  const message =
    `The node's data can't be looked at: ${why}. Whether they are whole is not known, and nothing is done about them. ` +
    `${isWrong ? `The last look that was made found: ${before.message} ` : ""}${again}`;
  return { type: "DataSound", status: "Unknown", reason: "NotLooked", message };
}

function deriveDataSound(
  { judgement, next }: DataFinding,
  { restored }: DataObservation,
  command: CommandWords,
): ConditionReport<"DataSound"> {
  const type = "DataSound";
  const byHand = `Restore them from a snapshot: ${command("restore --snapshot")}`;
  if (judgement.kind === "corrupt") {
    const message = `The node's data are corrupt: ${judgement.signs.join("; ")}. Other causes were looked for and not found: node.conf, programs, keys, ports, memory, the disk's room, the chain. ${next ?? byHand}`;
    return { type, status: "False", reason: "Corrupt", message };
  }
  if (judgement.kind === "doubt") {
    const missing = judgement.missing.join("; ");
    const message = `The node's data may be corrupt: ${judgement.signs.join("; ")}. To be sure, this is missing: ${missing}. ${next ?? byHand}`;
    return { type, status: "Unknown", reason: "InDoubt", message };
  }
  if (restored !== undefined) {
    const message = `The node's data were found corrupt, and were restored by themselves from ${restored.sources.join(" and ")} at ${new Date(restored.atMs).toISOString()}. UpgradeProved says where the old data are and how to go back to them. Look at the disk that they were on. This is reported for a day.`;
    return { type, status: "False", reason: "Restored", message };
  }
  if (judgement.kind === "sound") {
    const message = "The node runs well, and has the blocks that it had before.";
    return { type, status: "True", reason: "Sound", message };
  }
  const why = judgement.kind === "unknown" ? judgement.why : "The node has another first block than before.";
  const message = [why, "Nothing speaks of corrupt data; it is known once the node runs well."]
    .filter(Boolean)
    .join(" ");
  return { type, status: "Unknown", reason: "NotSeenWell", message };
}

function deriveRestoreReady(readiness: RestoreReadiness): readonly ConditionReport<"RestoreReady">[] {
  const type = "RestoreReady";
  switch (readiness.kind) {
    case "off":
      return [];
    case "unchecked": {
      const message = "Whether the data could be restored by themselves has not been looked at yet.";
      return [{ type, status: "Unknown", reason: "NotChecked", message }];
    }
    case "ready": {
      const message = `Data that are found corrupt are restored by themselves, once, from ${readiness.sources.join(" and ")} (upgrade.autoRestore).`;
      return [{ type, status: "True", reason: "Ready", message }];
    }
    case "not-ready": {
      const message = `upgrade.autoRestore is set, and the data could not be restored by themselves: ${readiness.problems.join("; ")}.`;
      return [{ type, status: "False", reason: "NotReady", message }];
    }
    case "used": {
      const { sources, atMs } = readiness.by;
      const message = `A restore was begun by itself from ${sources.join(" and ")} at ${new Date(atMs).toISOString()}, and no snapshot is used twice. Take another one: an upgrade with upgrade.keepSnapshot makes it, or name one in upgrade.autoRestore.`;
      return [{ type, status: "False", reason: "Used", message }];
    }
  }
}
