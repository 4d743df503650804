import { z } from "zod";

export const forwardStages = ["stopping", "copying", "installing", "proving", "cleaning"] as const;

/**
 * Stages of a rollback, in order, if the new version may have run. The data is restored after programs and configuration: once its only
 * copy is in place, any start of the node must start the old version.
 */
export const rollbackStages = ["back-stopping", "back-installing", "back-data", "back-proving"] as const;

/**
 * Stages of a rollback if only the old version has run, on its own data. The first attempt doesn't stop the node: if the stop failed
 * before, it would fail again and strand a working node.
 */
export const restartStages = ["back-stopping", "back-discarding", "back-restarting"] as const;

const stage = z.enum([...forwardStages, ...rollbackStages, ...restartStages]);

export type ForwardStage = (typeof forwardStages)[number];
export type Stage = z.output<typeof stage>;

/** Describes each stage's work, as in "it was copying the data". */
export const stageDescriptions: Readonly<Record<Stage, string>> = {
  stopping: "stopping the node",
  copying: "copying the data",
  installing: "putting the new version in place",
  proving: "starting and verifying the new version",
  cleaning: "removing the copy of the data",
  "back-stopping": "stopping the node for the rollback",
  "back-installing": "putting the old version in place",
  "back-data": "restoring the old data",
  "back-proving": "starting and verifying the old version",
  "back-discarding": "removing the copy for the rollback",
  "back-restarting": "starting and verifying the node as it was",
};

/**
 * Outcomes of an upgrade. `stranded`: neither version could be verified, or the data could not be restored. `settled`: the upgrade was
 * stranded, but the node responded again once its pause was lifted.
 */
export const upgradeOutcomes = ["committed", "rolled-back", "stranded", "settled"] as const;

/** Recorded progress of an upgrade on any platform. Times are wall-clock times. */
export const progress = z.strictObject({
  beganMs: z.number(),
  stage,
  stageSinceMs: z.number(),
  attempts: z.number(),
  /** Number of processes that exited during this stage. */
  interruptions: z.number(),
  /** Stage that failed, and the reason; absent while moving to the new version. */
  failedStage: z.enum(forwardStages).optional(),
  failure: z.string().optional(),
  end: z.enum(upgradeOutcomes).optional(),
  note: z.string().optional(),
});

export type Progress = Readonly<z.output<typeof progress>>;

/**
 * Failure of an upgrade or of one of its stages; any other error that a stage throws counts as one, too. `waits`: the stage could not run
 * or was interrupted, because another process is running or something does not respond; the next run retries it. `final`: another rollback
 * attempt would make things worse. `fatal`: the progress can't be recorded.
 */
export class UpgradeError extends Error {
  override readonly name: string = "UpgradeError";
  readonly code: string = "upgrade_failed";
  readonly kind: "failed" | "final" | "waits" | "fatal";

  constructor(message: string, kind: UpgradeError["kind"] = "failed", options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Max rollback attempts before the rollback is left to the operator: a node may be killed during verification. */
export const rollbackAttemptsMax = 3;

/** Max number of processes that may exit during one forward stage before the upgrade is rolled back. */
export const interruptionsMax = 5;

/** Creates the progress of an upgrade that has not run any stage. Pure. */
export function createFirstStage(nowMs: number): Progress {
  return { beganMs: nowMs, stage: "stopping", stageSinceMs: nowMs, attempts: 0, interruptions: 0 };
}

export function formatWorkId(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
}

/** Lists the stages in the upgrade's current direction; `touches`: the first stage in which the new version may run. Pure. */
export function listStages({ failedStage }: Progress, touches: ForwardStage): readonly Stage[] {
  if (failedStage === undefined) return forwardStages;
  return isTouched(failedStage, touches) ? rollbackStages : restartStages;
}

function isTouched(failed: ForwardStage, touches: ForwardStage): boolean {
  return forwardStages.indexOf(failed) >= forwardStages.indexOf(touches);
}

/** Decides what follows a stage. Pure. Every upgrade terminates within a limited number of calls. */
export function decideAfterStage<Upgrade extends Progress>(
  upgrade: Upgrade,
  failed: Pick<UpgradeError, "message" | "kind"> | undefined,
  nowMs: number,
  touches: ForwardStage,
): Upgrade {
  // A failed cleanup changes nothing.
  if (upgrade.stage === "cleaning")
    return { ...upgrade, end: "committed", ...(failed === undefined ? {} : { note: failed.message }) };
  if (failed === undefined) {
    const stages = listStages(upgrade, touches);
    const next = stages[stages.indexOf(upgrade.stage) + 1];
    return next === undefined ? { ...upgrade, end: "rolled-back" } : enterStage(upgrade, next, nowMs);
  }
  if (upgrade.failure === undefined) return startRollback(upgrade, failed.message, nowMs, touches);
  const attempts = upgrade.attempts + 1;
  const isStranded = attempts >= rollbackAttemptsMax || failed.kind === "final";
  if (isStranded) return { ...upgrade, attempts, end: "stranded", note: failed.message };
  return enterStage({ ...upgrade, attempts }, "back-stopping", nowMs);
}

/** Decides how to resume an upgrade whose process exited during a stage, or one that is stranded. Pure. */
export function decideAfterInterruption<Upgrade extends Progress>(
  upgrade: Upgrade,
  nowMs: number,
  touches: ForwardStage,
): Upgrade {
  if (upgrade.end === "stranded") return restartRollback(upgrade, nowMs);
  const { stage: at, failure } = upgrade;
  const interruptions = upgrade.interruptions + 1;
  const continues = failure !== undefined || at === "cleaning" || interruptions <= interruptionsMax;
  if (continues) return { ...upgrade, interruptions };
  const why = `it was interrupted ${interruptions} times while ${stageDescriptions[at]}`;
  return startRollback(upgrade, why, nowMs, touches);
}

export function restartRollback<Upgrade extends Progress>(upgrade: Upgrade, nowMs: number): Upgrade {
  return { ...enterStage(upgrade, "back-stopping", nowMs), attempts: 0, end: undefined, note: undefined };
}

function startRollback<Upgrade extends Progress>(
  upgrade: Upgrade,
  failure: string,
  nowMs: number,
  touches: ForwardStage,
): Upgrade {
  const failedStage = forwardStages.find((each) => each === upgrade.stage);
  const first = failedStage !== undefined && isTouched(failedStage, touches) ? "back-stopping" : "back-discarding";
  return enterStage({ ...upgrade, failure, failedStage }, first, nowMs);
}

function enterStage<Upgrade extends Progress>(upgrade: Upgrade, next: Stage, nowMs: number): Upgrade {
  return { ...upgrade, stage: next, stageSinceMs: nowMs, interruptions: 0 };
}
