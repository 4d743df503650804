/** Recorded progress of an upgrade on any platform: facts that can't be observed on the node. Times are wall-clock times. */
export type Progress<Stage extends string> = Readonly<{
  beganMs: number;
  stage: Stage;
  stageSinceMs: number;
  /** Number of failed rollback attempts. */
  attempts: number;
  /** Number of processes that exited during this stage. */
  interruptions: number;
  /** Whether the new version may have been started, by any process or person, and so may have written to the data. */
  newRan: boolean;
  /** Reason for the rollback; absent while moving to the new version. */
  failure?: string | undefined;
  end?: string | undefined;
  /** Note on the outcome, for the operator. */
  note?: string | undefined;
}>;

/**
 * Outcome of a stage. `waits`: the stage could not run or was interrupted, because another process is at work or something does not
 * respond; the stage is neither done nor failed, so the next run retries it. `isFinal`: another rollback attempt would make things worse.
 */
export type StageOutcome = Readonly<
  | { kind: "done"; note?: string | undefined }
  | { kind: "failed"; why: string; isFinal?: boolean }
  | { kind: "waits"; why: string }
>;

type EndedStage = Exclude<StageOutcome, { kind: "waits" }>;

/** The stages for one kind of upgrade. Each stage is idempotent, even when half done, because an earlier process may have been killed while running it. */
export type Route<Stage extends string, Upgrade extends Progress<Stage>> = Readonly<{
  /** Stages to the new version, in order. */
  forward: (upgrade: Upgrade) => readonly Stage[];
  /** Stages of the rollback, in order. */
  back: (upgrade: Upgrade) => readonly [Stage, ...Stage[]];
  /** Cleanup stages after the verdict, each with the outcome that follows: a failed cleanup is recorded and undoes nothing. */
  cleanups: Partial<Readonly<Record<Stage, NonNullable<Upgrade["end"]>>>>;
  /** Facts that become true when a stage starts. */
  facts: (stage: Stage) => Partial<Upgrade>;
  /** Decides how to resume an upgrade that an earlier process left unfinished; default: {@link decideAfterInterruption}. */
  resume?: (upgrade: Upgrade, nowMs: number) => Upgrade;
  /** The process that runs the stages, and a description of each stage's work, as in "it was copying the data". */
  runner: string;
  words: Readonly<Record<Stage, string>>;
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
export function decideAfterStage<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  outcome: EndedStage,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  const { stage, failure } = upgrade;
  const end = route.cleanups[stage];
  if (end !== undefined) return { ...upgrade, end, note: outcome.kind === "done" ? outcome.note : outcome.why };
  if (outcome.kind === "done") {
    const way = failure === undefined ? route.forward(upgrade) : route.back(upgrade);
    const next = way[way.indexOf(stage) + 1];
    if (next !== undefined) return beginStage(upgrade, next, nowMs, route);
    return { ...upgrade, end: "rolled-back", note: outcome.note };
  }
  if (failure === undefined) return rollBack(upgrade, outcome.why, nowMs, route);
  const attempts = upgrade.attempts + 1;
  if (attempts >= backAttempts || outcome.isFinal === true) {
    return { ...upgrade, attempts, end: "stranded", note: outcome.why };
  }
  const again = { ...upgrade, attempts };
  return beginStage(again, getFirstBack(again, route), nowMs, route);
}

/** Decides how to resume an upgrade whose process exited during a stage. Pure. */
export function decideAfterInterruption<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  const interruptions = upgrade.interruptions + 1;
  const { stage, failure } = upgrade;
  const goesOn = failure !== undefined || route.cleanups[stage] !== undefined || interruptions <= interruptionsMax;
  if (goesOn) return { ...upgrade, interruptions };
  const why = `${route.runner} was ended ${interruptions} times while it was ${route.words[stage]}`;
  return rollBack(upgrade, why, nowMs, route);
}

/** Starts the rollback. Pure. */
export function rollBack<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  failure: string,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  const failed = { ...upgrade, failure, attempts: 0 };
  return beginStage(failed, getFirstBack(failed, route), nowMs, route);
}

/** Restarts the rollback of a stranded upgrade. Pure. */
export function retryRollback<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  const again = { ...upgrade, end: undefined, note: undefined, attempts: 0 };
  return beginStage(again, getFirstBack(again, route), nowMs, route);
}

function getFirstBack<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  route: Route<Stage, Upgrade>,
): Stage {
  return route.back(upgrade)[0];
}

function beginStage<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  stage: Stage,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  return { ...upgrade, ...route.facts(stage), stage, stageSinceMs: nowMs, interruptions: 0 };
}
