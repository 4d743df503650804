/** What an upgrade of any platform remembers of its progress: what can't be seen of the node. Times are by the wall clock. */
export type Progress<Stage extends string> = Readonly<{
  beganMs: number;
  stage: Stage;
  stageSinceMs: number;
  /** Failed tries of the rollback. */
  attempts: number;
  /** Number of processes that ended within this stage. */
  interruptions: number;
  /** Whether the new version may have been started, by anybody, and so may have written to the data. */
  newRan: boolean;
  /** Reason of the rollback; absent on the way to the new version. */
  failure?: string | undefined;
  end?: string | undefined;
  /** Note on its end, for a person. */
  note?: string | undefined;
}>;

/**
 * Outcome of a stage. `waits`: it could not be tried, or was cut off, because somebody else is at work or something is not responding; neither done nor failed,
 * so the next run tries it again. `isFinal`: another try of the rollback would make it worse.
 */
export type StageOutcome = Readonly<
  | { kind: "done"; note?: string | undefined }
  | { kind: "failed"; why: string; isFinal?: boolean }
  | { kind: "waits"; why: string }
>;

type EndedStage = Exclude<StageOutcome, { kind: "waits" }>;

/** The stages of a kind of upgrade. Each can be repeated after it was done or half done: an earlier process may have been killed in it. */
export type Route<Stage extends string, Upgrade extends Progress<Stage>> = Readonly<{
  /** Stages to the new version, in order. */
  forward: (upgrade: Upgrade) => readonly Stage[];
  /** Stages of the rollback, in order. */
  back: (upgrade: Upgrade) => readonly [Stage, ...Stage[]];
  /** Stages after the verdict, which only clean up, with the ends that follow: a failure is noted and undoes nothing. */
  cleanups: Partial<Readonly<Record<Stage, NonNullable<Upgrade["end"]>>>>;
  /** Facts that hold from the beginning of a stage on. */
  facts: (stage: Stage) => Partial<Upgrade>;
  /** Decides how an upgrade goes on that an earlier process left; default: {@link decideAfterInterruption}. */
  resume?: (upgrade: Upgrade, nowMs: number) => Upgrade;
  /** Process that runs the stages, and the work of each, as in "it was copying the data". */
  runner: string;
  words: Readonly<Record<Stage, string>>;
}>;

/** Tries of the rollback before it is left to a person: a node may be killed while it is verified. */
export const backAttempts = 3;

/** Most processes that may end within one stage on the way to the new version before the upgrade is rolled back. */
export const interruptionsMax = 5;

/** Creates the part of the record that is the same for every upgrade before its first step. Pure. */
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

/** Formats the beginning of an upgrade or restore as the name of a directory. Pure. */
export function formatWorkId(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
}

/** Decides what follows a stage. Pure; every upgrade ends within a bounded number of calls. */
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

/** Decides how an upgrade goes on whose process ended within a stage. Pure. */
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

/** Begins the rollback. Pure. */
export function rollBack<Stage extends string, Upgrade extends Progress<Stage>>(
  upgrade: Upgrade,
  failure: string,
  nowMs: number,
  route: Route<Stage, Upgrade>,
): Upgrade {
  const failed = { ...upgrade, failure, attempts: 0 };
  return beginStage(failed, getFirstBack(failed, route), nowMs, route);
}

/** Starts the rollback of a stranded upgrade over. Pure. */
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
