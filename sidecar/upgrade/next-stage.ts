import { z } from "zod";

/** Recorded progress of an upgrade on any platform: facts that can't be observed on the node. Times are wall-clock times. */
export const progress = z.object({
  beganMs: z.number(),
  stage: z.string(),
  stageSinceMs: z.number(),
  /** Number of failed rollback attempts. */
  attempts: z.number(),
  /** Number of processes that exited during this stage. */
  interruptions: z.number(),
  /** Whether the new version may have been started, by any process or person, and so may have written to the data. */
  newRan: z.boolean(),
  /** Reason for the rollback; absent while moving to the new version. */
  failure: z.string().optional(),
  end: z.string().optional(),
  /** Note on the outcome, for the operator. */
  note: z.string().optional(),
});

export type Progress = Readonly<z.output<typeof progress>>;

/**
 * Failure of a stage, as is any other error that a stage throws. `waits`: the stage could not run or was interrupted, because another
 * process is running or something does not respond; the next run retries it. `final`: another rollback attempt would make things worse.
 */
export class StageError extends Error {
  override readonly name: string = "StageError";
  readonly code: string = "stage_failed";
  readonly kind: "failed" | "final" | "waits";

  constructor(message: string, kind: StageError["kind"] = "failed", options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The stages for one kind of upgrade. Each stage is idempotent, even when half done, because an earlier process may have been killed while running it. */
export type Route<Upgrade extends Progress> = Readonly<{
  /** Stages to the new version, in order. */
  forward: readonly Upgrade["stage"][];
  /** Stages of the rollback, in order. */
  back: (upgrade: Upgrade) => readonly [Upgrade["stage"], ...Upgrade["stage"][]];
  /** Cleanup stages after the verdict, each with the outcome that follows: a failed cleanup is recorded and undoes nothing. */
  cleanups: Partial<Readonly<Record<Upgrade["stage"], NonNullable<Upgrade["end"]>>>>;
  /** Facts that become true when a stage starts. */
  facts: (stage: Upgrade["stage"]) => Partial<Upgrade>;
  /** Decides how to resume an upgrade that an earlier process left unfinished; default: {@link decideAfterInterruption}. */
  resume?: (upgrade: Upgrade, nowMs: number) => Upgrade;
  /** The process that runs the stages, and a description of each stage's work, as in "it was copying the data". */
  runner: string;
  words: Readonly<Record<Upgrade["stage"], string>>;
}>;

/** Max rollback attempts before the rollback is left to the operator: a node may be killed during verification. */
export const backAttempts = 3;

/** Max number of processes that may exit during one forward stage before the upgrade is rolled back. */
export const interruptionsMax = 5;

/** Creates the initial fields that the records of all upgrades have in common. Pure. */
export function createFirstStage(nowMs: number) {
  return {
    beganMs: nowMs,
    stage: "stopping",
    stageSinceMs: nowMs,
    attempts: 0,
    interruptions: 0,
    newRan: false,
  } as const;
}

/** Formats the start time of an upgrade or restore for use as a directory name. Pure. */
export function formatWorkId(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
}

/** Decides what follows a stage. Pure. Every upgrade terminates within a limited number of calls. */
export function decideAfterStage<Upgrade extends Progress>(
  upgrade: Upgrade,
  failed: Pick<StageError, "message" | "kind"> | undefined,
  nowMs: number,
  route: Route<Upgrade>,
): Upgrade {
  const { stage, failure }: Progress = upgrade;
  const end = route.cleanups[stage as Upgrade["stage"]];
  if (end !== undefined) return { ...upgrade, end, ...(failed === undefined ? {} : { note: failed.message }) };
  if (failed === undefined) {
    const stages = failure === undefined ? route.forward : route.back(upgrade);
    const next = stages[stages.indexOf(stage) + 1];
    return next === undefined ? { ...upgrade, end: "rolled-back" } : beginStage(upgrade, next, nowMs, route);
  }
  if (failure === undefined) return startRollback(upgrade, { failure: failed.message, attempts: 0 }, nowMs, route);
  const attempts = upgrade.attempts + 1;
  const isOver = attempts >= backAttempts || failed.kind === "final";
  if (isOver) return { ...upgrade, attempts, end: "stranded", note: failed.message };
  return startRollback(upgrade, { attempts }, nowMs, route);
}

/** Decides how to resume an upgrade whose process exited during a stage. Pure. */
export function decideAfterInterruption<Upgrade extends Progress>(
  upgrade: Upgrade,
  nowMs: number,
  route: Route<Upgrade>,
): Upgrade {
  const interruptions = upgrade.interruptions + 1;
  const stage: Upgrade["stage"] = upgrade.stage;
  const continues =
    upgrade.failure !== undefined || route.cleanups[stage] !== undefined || interruptions <= interruptionsMax;
  if (continues) return { ...upgrade, interruptions };
  const failure = `${route.runner} exited ${interruptions} times while ${route.words[stage]}`;
  return startRollback(upgrade, { failure, attempts: 0 }, nowMs, route);
}

/** Starts the rollback, with changes to the record. Pure. */
export function startRollback<Upgrade extends Progress>(
  upgrade: Upgrade,
  changes: Partial<Progress>,
  nowMs: number,
  route: Route<Upgrade>,
): Upgrade {
  const changed = { ...upgrade, ...changes };
  return beginStage(changed, route.back(changed)[0], nowMs, route);
}

function beginStage<Upgrade extends Progress>(
  upgrade: Upgrade,
  stage: Upgrade["stage"],
  nowMs: number,
  route: Route<Upgrade>,
): Upgrade {
  return { ...upgrade, ...route.facts(stage), stage, stageSinceMs: nowMs, interruptions: 0 };
}
