import { decideAfterInterruption, retryRollback, type Route } from "#sidecar/upgrade/next-stage.ts";
import { forwardStages, type BackwardStage, type StackRecord, type StackStage } from "./stack-record.ts";

/** Stages of a stack upgrade. */
export const stackRoute: Route<StackStage, StackRecord> = {
  runner: "the command",
  forward: () => forwardStages,
  back: listBackward,
  resume: resumeRecord,
  cleanups: { cleaning: "committed", "back-cleaning": "rolled-back" },
  facts: (stage) => ({
    waitsFor: undefined,
    ...(stage === "configuring" ? { configured: true } : {}),
    ...(stage === "updating" ? { newRan: true } : {}),
  }),
  words: {
    stopping: "stopping the sidecar and the node",
    copying: "copying the node's data and node.conf",
    configuring: "setting the new image in the stack's configuration",
    updating: "running pulumi up with the new image",
    proving: "proving the new version",
    cleaning: "removing the copy of the data",
    "back-stopping": "stopping the sidecar and the node to go back",
    "back-discarding": "removing what was copied of the data, to go back",
    "back-starting": "starting the node and the sidecar as they were",
    "back-configuring": "setting the old image in the stack's configuration",
    "back-data": "putting the old data and old node.conf back",
    "back-updating": "running pulumi up with the old image",
    "back-proving": "proving the old version",
    "back-cleaning": "removing the copy of the data after the way back",
  },
};

/** Resumes a record at the stage where an earlier run stopped; restarts the rollback of a stranded record, because the operator requests it. Pure. */
function resumeRecord(record: StackRecord, nowMs: number): StackRecord {
  if (record.end === "stranded") {
    // The operator has seen the progress and wants to continue.
    const restored = record.restored === "whole" ? record.restored : undefined;
    return retryRollback({ ...record, restored }, nowMs, stackRoute);
  }
  if (record.waitsFor === undefined) return decideAfterInterruption(record, nowMs, stackRoute);
  // Waiting is not the stage's fault. While another party has the stack locked, the rollback is blocked too.
  return { ...record, waitsFor: record.waitsFor === "lock" ? record.waitsFor : undefined };
}

/** Lists the stages of the rollback. If only the old version has run, nothing has to stop: the node is started again before Pulumi runs. */
function listBackward({ newRan, configured }: StackRecord): readonly [BackwardStage, ...BackwardStage[]] {
  if (newRan) {
    // The data is restored after the configuration, so that only the old version can be started on the restored data.
    return ["back-stopping", "back-configuring", "back-data", "back-updating", "back-proving", "back-cleaning"];
  }
  const configuring = configured ? (["back-configuring"] as const) : [];
  return ["back-discarding", "back-starting", ...configuring, "back-proving", "back-cleaning"];
}
