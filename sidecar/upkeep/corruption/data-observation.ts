import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { DataAssessment } from "./assess-data.ts";

export type DataState = Readonly<{
  found?: DataAssessment | undefined;
  /** Undefined if the last check didn't fail. The next one comes at `againAtMs` (wall clock), absent until the failed one has ended. */
  failed?: Readonly<{ why: string; againAtMs?: number }> | undefined;
  pendingCheck?: Promise<void> | undefined;
}>;

export type ObservedData = Observation<DataState>;

export function deriveDataConditions(seen: DataState): readonly ConditionReport[] {
  const found = seen.found === undefined ? undefined : deriveDataSound(seen.found);
  const sound = seen.failed === undefined ? found : deriveUnchecked(seen.failed, found);
  return sound === undefined ? [] : [sound];
}

/** Reports a failed check. The previous finding no longer counts, but any fault that it found is still mentioned. */
function deriveUnchecked(
  { why, againAtMs }: NonNullable<DataState["failed"]>,
  before: ConditionReport<"DataIntact"> | undefined,
): ConditionReport<"DataIntact"> {
  const again =
    againAtMs === undefined
      ? "Check that the disks of the data and of the snapshots respond (stat -f, dmesg); no new check starts until this one has finished."
      : `The next check is at ${new Date(againAtMs).toISOString()}.`;
  const isWrong = before?.status === "False" || before?.reason === "Inconclusive";
  const message =
    `The node's data can't be read: ${why}. Whether it is intact is unknown. ` +
    `${isWrong ? `The last completed check found: ${before.message} ` : ""}${again}`;
  return { type: "DataIntact", status: "Unknown", reason: "NotInspected", message };
}

function deriveDataSound(judgement: DataAssessment): ConditionReport<"DataIntact"> {
  const type = "DataIntact";
  const byHand = "If the node's log confirms it, replace them with a snapshot (docs/runbooks/data-suspect.md).";
  if (judgement.kind === "suspect") {
    const message = `Symptoms of corrupt data: ${judgement.signs.join("; ")}. node.conf, binaries, keys, ports, memory, disk space and the chain are the same as when the node was last healthy. ${byHand}`;
    return { type, status: "False", reason: "Suspect", message };
  }
  if (judgement.kind === "doubt") {
    const missing = judgement.missing.join("; ");
    const message = `Symptoms of corrupt data: ${judgement.signs.join("; ")}. Not ruled out: ${missing}. ${byHand}`;
    return { type, status: "Unknown", reason: "Inconclusive", message };
  }
  if (judgement.kind === "sound") {
    const message = "The node is healthy and still has its earlier blocks.";
    return { type, status: "True", reason: "Intact", message };
  }
  const why = judgement.kind === "unknown" ? judgement.why : "The node has a different genesis block than before.";
  const message = [why, "There are no symptoms of corrupt data; it is verified once the node is healthy."]
    .filter(Boolean)
    .join(" ");
  return { type, status: "Unknown", reason: "NeverHealthy", message };
}
