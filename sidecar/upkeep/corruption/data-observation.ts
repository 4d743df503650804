import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { DataAssessment } from "./assess-data.ts";

export type DataState = Readonly<{
  found?: DataAssessment | undefined;
  pendingCheck?: Promise<void> | undefined;
}>;

export type ObservedData = Observation<DataState>;

export function deriveDataConditions({ found }: DataState): readonly ConditionReport[] {
  return found === undefined ? [] : [deriveDataSound(found)];
}

function deriveDataSound(judgement: DataAssessment): ConditionReport<"DataIntact"> {
  const type = "DataIntact";
  const byHand = "If the node's log confirms it, replace the data with a snapshot (docs/runbooks/data-suspect.md).";
  if (judgement.kind === "suspect") {
    const message = `Symptoms of corrupt data: ${judgement.sign}, unlike on every reference that has the block. ${byHand}`;
    return { type, status: "False", reason: "Suspect", message };
  }
  if (judgement.kind === "doubt") {
    const message = `Symptoms of corrupt data: ${judgement.sign}. Not ruled out: ${judgement.missing.join("; ")}. ${byHand}`;
    return { type, status: "Unknown", reason: "Inconclusive", message };
  }
  if (judgement.kind === "sound") {
    const message = "The node is healthy and still has its earlier blocks.";
    return { type, status: "True", reason: "Intact", message };
  }
  const other = judgement.kind === "unknown" ? "" : "The node has a different genesis block than before. ";
  const message = `${other}There are no symptoms of corrupt data; it is verified once the node is healthy.`;
  return { type, status: "Unknown", reason: "NeverHealthy", message };
}
