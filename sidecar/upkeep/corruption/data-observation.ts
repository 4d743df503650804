import { createObservation, type Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-words.ts";
import type { DataAssessment } from "./judge-data.ts";

/** What is known about the node's data. */
export type DataObservation = Readonly<{
  /** Finding of the last check; undefined before the first check. */
  found: DataAssessment | undefined;
  /**
   * Failure of the last check, and the time of the next check (wall clock; absent until the failed check has ended); undefined if the last
   * check didn't fail.
   */
  failed: Readonly<{ why: string; againAtMs?: number }> | undefined;
  /** Check in progress. */
  looking: Promise<void> | undefined;
}>;

export type ObservedData = Observation<DataObservation>;

/** Creates an empty observation. */
export function observeData(onChange?: () => void): ObservedData {
  return createObservation<DataObservation>({ found: undefined, failed: undefined, looking: undefined }, onChange);
}

/** Reports evidence against the node's data. Pure. */
export function deriveDataConditions(seen: DataObservation, command: CommandText): readonly ConditionReport[] {
  const found = seen.found === undefined ? undefined : deriveDataSound(seen.found, command);
  const sound = seen.failed === undefined ? found : deriveNotLooked(seen.failed, found);
  return sound === undefined ? [] : [sound];
}

/** Reports a failed check. The previous finding no longer counts, but any fault that it found is still mentioned. */
function deriveNotLooked(
  { why, againAtMs }: NonNullable<DataObservation["failed"]>,
  before: ConditionReport<"DataIntact"> | undefined,
): ConditionReport<"DataIntact"> {
  const again =
    againAtMs === undefined
      ? "See that the disks of the data and of the snapshots answer (stat -f, dmesg); no other look begins before this one has ended."
      : `The next look is at ${new Date(againAtMs).toISOString()}.`;
  const isWrong = before?.status === "False" || before?.reason === "Inconclusive";
  const message =
    `The node's data can't be read: ${why}. Whether they are whole is not known. ` +
    `${isWrong ? `The last look that was made found: ${before.message} ` : ""}${again}`;
  return { type: "DataIntact", status: "Unknown", reason: "NotInspected", message };
}

function deriveDataSound(judgement: DataAssessment, command: CommandText): ConditionReport<"DataIntact"> {
  const type = "DataIntact";
  const byHand = `If the node's log confirms it, restore them from a snapshot: ${command("restore --snapshot")}`;
  if (judgement.kind === "suspect") {
    const message = `Signs against the node's data: ${judgement.signs.join("; ")}. node.conf, binaries, keys, ports, memory, disk space and the chain are as when the node was last healthy. ${byHand}`;
    return { type, status: "False", reason: "Suspect", message };
  }
  if (judgement.kind === "doubt") {
    const missing = judgement.missing.join("; ");
    const message = `Signs against the node's data: ${judgement.signs.join("; ")}. Other causes are not ruled out; missing: ${missing}. ${byHand}`;
    return { type, status: "Unknown", reason: "Inconclusive", message };
  }
  if (judgement.kind === "sound") {
    const message = "The node runs well, and has the blocks that it had before.";
    return { type, status: "True", reason: "Intact", message };
  }
  const why = judgement.kind === "unknown" ? judgement.why : "The node has another first block than before.";
  const message = [why, "Nothing speaks against its data; it is known once the node runs well."]
    .filter(Boolean)
    .join(" ");
  return { type, status: "Unknown", reason: "NeverHealthy", message };
}
