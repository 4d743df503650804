import {
  backwardStages,
  forwardStages,
  type BackwardStage,
  type ForwardStage,
  type StackRecord,
  type StackStage,
} from "./stack-record.ts";

/**
 * Outcome of a step. `waits`: it could not be tried, because somebody else is at work or something does not answer; neither done nor
 * failed, so `gatehouse upgrade --continue` tries it again.
 */
export type StepOutcome = Readonly<
  | { kind: "done"; note?: string | undefined }
  /** `isFinal`: another try of the way back would make it worse. */
  | { kind: "failed"; why: string; isFinal?: boolean }
  | { kind: "waits"; why: string }
>;

/** Number of tries of the way back before it is left to a person. */
export const backAttempts = 3;

/** Most runs that may end within one step towards the new version before the upgrade goes back. */
export const interruptionsMax = 5;

/** The work of a stage in words, as in "it was copying the data". */
export const stageWords: Readonly<Record<StackStage, string>> = {
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
};

/** Advances a record after a step that is done or has failed. Pure; every record leads to an end within a bounded number of calls. */
export function advanceRecord(
  record: StackRecord,
  outcome: Exclude<StepOutcome, { kind: "waits" }>,
  nowMs: number,
): StackRecord {
  const { stage } = record;
  return isBackward(stage)
    ? advanceBackward(record, stage, outcome, nowMs)
    : advanceForward(record, stage, outcome, nowMs);
}

/** Resumes a record at the step that an earlier run began; a stranded one starts its way back over, because a person requests it. Pure. */
export function resumeRecord(record: StackRecord, nowMs: number): StackRecord {
  if (record.end === "stranded") {
    // The person has seen how far it came, and wants it continued.
    const restored = record.restored === "whole" ? record.restored : undefined;
    return beginStage(
      { ...record, restored, end: undefined, note: undefined, attempts: 0 },
      getFirstBack(record),
      nowMs,
    );
  }
  // Waiting is not the step's fault. While somebody else has locked the stack, the way back is blocked, too.
  if (record.waitsFor !== undefined) {
    return { ...record, waitsFor: record.waitsFor === "lock" ? record.waitsFor : undefined };
  }
  const interruptions = record.interruptions + 1;
  const goesOn = isBackward(record.stage) || record.stage === "cleaning" || interruptions <= interruptionsMax;
  if (goesOn) return { ...record, interruptions };
  const why = `the command was ended ${interruptions} times while it was ${stageWords[record.stage]}`;
  return beginWayBack(record, why, nowMs);
}

/** Whether a stage leads back to the old version. */
export function isBackward(stage: StackStage): stage is BackwardStage {
  return (backwardStages as readonly string[]).includes(stage);
}

type Ended = Exclude<StepOutcome, { kind: "waits" }>;

function advanceForward(record: StackRecord, stage: ForwardStage, outcome: Ended, nowMs: number): StackRecord {
  // The new version is proved by then: leftovers that could not be removed are reported, and undo nothing.
  if (stage === "cleaning") {
    return { ...record, end: "committed", note: outcome.kind === "done" ? outcome.note : outcome.why };
  }
  if (outcome.kind === "failed") return beginWayBack(record, outcome.why, nowMs);
  return beginStage(record, forwardStages[forwardStages.indexOf(stage) + 1] ?? "cleaning", nowMs);
}

function advanceBackward(record: StackRecord, stage: BackwardStage, outcome: Ended, nowMs: number): StackRecord {
  // The old version is proved by then.
  if (stage === "back-cleaning") {
    return { ...record, end: "rolled-back", note: outcome.kind === "done" ? outcome.note : outcome.why };
  }
  if (outcome.kind === "done") {
    const stages = listBackward(record);
    return beginStage(record, stages[stages.indexOf(stage) + 1] ?? "back-cleaning", nowMs);
  }
  const attempts = record.attempts + 1;
  const isOver = attempts >= backAttempts || outcome.isFinal === true;
  if (isOver) return { ...record, attempts, end: "stranded", note: outcome.why };
  return beginStage({ ...record, attempts }, getFirstBack(record), nowMs);
}

function beginWayBack(record: StackRecord, failure: string, nowMs: number): StackRecord {
  return beginStage({ ...record, failure, attempts: 0 }, getFirstBack(record), nowMs);
}

/** Lists the stages of the way back. While only the old version has run, nothing has to stop: the node is started again before Pulumi runs. */
function listBackward({ newRan, configured }: StackRecord): readonly BackwardStage[] {
  if (newRan) {
    // The data come after the configuration, so that only the old version can be started over them.
    return ["back-stopping", "back-configuring", "back-data", "back-updating", "back-proving", "back-cleaning"];
  }
  const configuring = configured ? (["back-configuring"] as const) : [];
  return ["back-discarding", "back-starting", ...configuring, "back-proving", "back-cleaning"];
}

function getFirstBack(record: StackRecord): BackwardStage {
  return record.newRan ? "back-stopping" : "back-discarding";
}

function beginStage(record: StackRecord, stage: StackStage, nowMs: number): StackRecord {
  const newRan = record.newRan || stage === "updating";
  const configured = record.configured || stage === "configuring";
  return { ...record, stage, newRan, configured, waitsFor: undefined, stageSinceMs: nowMs, interruptions: 0 };
}
