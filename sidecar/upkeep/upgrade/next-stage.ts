import {
  backwardStages,
  forwardStages,
  isEarly,
  type BackwardStage,
  type EarlyStage,
  type ForwardStage,
  type NodeBefore,
  type UpgradeRecord,
  type UpgradeStage,
} from "../state/upgrade-record.ts";

export type StepOutcome = Readonly<
  | { ok: true; note?: string; /** Facts of the node now, to prove either version by. */ before?: NodeBefore }
  | { ok: false; why: string }
>;

/** Most tries of the way back before it is left to a person: a node may be killed while it is proved. */
export const backAttempts = 3;

/** Most times that a sidecar may end in one step towards the new version before the upgrade goes back. */
export const interruptionsMax = 5;

/** Decides what follows a step. Pure; every record leads to an end within a bounded number of calls. */
export function decideAfterStep(record: UpgradeRecord, outcome: StepOutcome, nowMs: number): UpgradeRecord {
  const { stage } = record;
  if (isEarly(stage)) return decideAfterEarly(record, stage, outcome, nowMs);
  return isBackward(stage)
    ? decideAfterBackward(record, stage, outcome, nowMs)
    : decideAfterForward(record, stage, outcome, nowMs);
}

/** Decides how a step that an earlier sidecar began goes on. Pure. */
export function decideAfterInterruption(record: UpgradeRecord, nowMs: number): UpgradeRecord {
  const { stage } = record;
  const interruptions = record.interruptions + 1;
  if (isBackward(stage) || stage === "cleaning" || stage === "giving-up" || interruptions <= interruptionsMax) {
    return { ...record, interruptions };
  }
  const why = `the sidecar was ended ${interruptions} times while it was ${stageWords[stage]}`;
  return beginWayBack(record, why, nowMs);
}

/** Decides how an upgrade goes on that a person withdraws while the node's data are copied. Pure. */
export function decideAfterWithdrawal(record: UpgradeRecord, why: string, nowMs: number): UpgradeRecord {
  return { ...beginWayBack(record, why, nowMs), isWithdrawn: true };
}

/** Work of each stage in words, as in "it was copying the data". */
export const stageWords: Readonly<Record<UpgradeStage, string>> = {
  "pre-copying": "copying the data while the node runs",
  "giving-up": "removing what was copied",
  stopping: "stopping the node",
  copying: "copying the data and the old programs",
  installing: "putting the new programs in place",
  migrating: "writing node.conf for the new version",
  proving: "starting and proving the new version",
  cleaning: "removing the copy of the data",
  "back-stopping": "stopping the node to go back",
  "back-data": "putting the old data back",
  "back-programs": "putting the old programs back",
  "back-config": "putting the old node.conf back",
  "back-proving": "starting and proving the old version",
};

/** Whether a stage leads back to the old version. */
export function isBackward(stage: UpgradeStage): stage is BackwardStage {
  return (backwardStages as readonly string[]).includes(stage);
}

/** Whether a stage starts the node, which charges the restart budget once. */
export function isStart(stage: UpgradeStage): boolean {
  return stage === "proving" || stage === "back-proving";
}

function decideAfterEarly(
  record: UpgradeRecord,
  stage: EarlyStage,
  outcome: StepOutcome,
  nowMs: number,
): UpgradeRecord {
  // The node runs as it did: leftovers are reported.
  if (stage === "giving-up") return { ...record, end: "given-up", note: outcome.ok ? outcome.note : outcome.why };
  if (!outcome.ok) return beginWayBack(record, outcome.why, nowMs);
  return beginStage({ ...record, before: outcome.before ?? record.before }, "stopping", nowMs);
}

function decideAfterForward(
  record: UpgradeRecord,
  stage: ForwardStage,
  outcome: StepOutcome,
  nowMs: number,
): UpgradeRecord {
  // The new version is proved by then: leftovers are reported, and undo nothing.
  if (stage === "cleaning") return { ...record, end: "committed", note: outcome.ok ? outcome.note : outcome.why };
  if (!outcome.ok) return beginWayBack(record, outcome.why, nowMs);
  const next = forwardStages[forwardStages.indexOf(stage) + 1] ?? "cleaning";
  return beginStage({ ...record, attempts: 0 }, next, nowMs);
}

function decideAfterBackward(
  record: UpgradeRecord,
  stage: BackwardStage,
  outcome: StepOutcome,
  nowMs: number,
): UpgradeRecord {
  if (outcome.ok) {
    const next = backwardStages[backwardStages.indexOf(stage) + 1];
    return next === undefined ? { ...record, end: "rolled-back", note: outcome.note } : beginStage(record, next, nowMs);
  }
  const attempts = record.attempts + 1;
  if (attempts >= backAttempts) return { ...record, attempts, end: "stranded", note: outcome.why };
  return beginStage({ ...record, attempts }, "back-stopping", nowMs);
}

/**
 * Begins the way back. A node that could not be stopped has lost nothing: stopping it would fail again, and strand a node that serves. One that was not
 * to be stopped yet is left alone.
 */
function beginWayBack(record: UpgradeRecord, failure: string, nowMs: number): UpgradeRecord {
  const stopped = record.stage === "stopping" ? "back-proving" : "back-stopping";
  const next = isEarly(record.stage) ? "giving-up" : stopped;
  return beginStage({ ...record, failure, attempts: 0 }, next, nowMs);
}

function beginStage(record: UpgradeRecord, stage: UpgradeStage, nowMs: number): UpgradeRecord {
  // From the first new program on: a supervisor may start the node with it before the upgrade does.
  const newRan = record.newRan || stage === "installing";
  return { ...record, stage, newRan, stageSinceMs: nowMs, interruptions: 0 };
}
