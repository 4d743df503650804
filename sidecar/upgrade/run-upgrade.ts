import type { Clock } from "#daemon/clock.ts";
import {
  decideAfterInterruption,
  decideAfterStage,
  type Progress,
  type Route,
  type StageOutcome,
} from "./next-stage.ts";

/**
 * Runs one stage. `amend` adds to the record, and resolves once the addition is on disk. `isResumed`: an earlier process exited during this
 * stage. A step that throws has failed.
 */
export type StageAction<Upgrade> = (
  upgrade: Upgrade,
  how: Readonly<{ amend: (facts: Partial<Upgrade>) => Promise<void>; isResumed: boolean }>,
) => Promise<StageOutcome>;

export type StageSteps<Stage extends string, Upgrade> = Readonly<Record<Stage, StageAction<Upgrade>>>;

export type RunUpgradeDependencies<Stage extends string, Upgrade extends Progress<Stage>> = Readonly<{
  route: Route<Stage, Upgrade>;
  steps: StageSteps<Stage, Upgrade>;
  /** Records the upgrade; returns false if the record is not on disk in time. */
  remember: (upgrade: Upgrade) => Promise<boolean>;
  /** Whether another call runs the upgrade from this stage on. */
  endsAt?: (stage: Stage) => boolean;
  /** Called before each stage. */
  onStage?: (upgrade: Upgrade, how: Readonly<{ isResumed: boolean }>) => void;
  /** Called after a failed stage, with the record of the next stage. */
  onFailure?: (why: string, upgrade: Upgrade) => Promise<void>;
  /** Whether a step's error ends the run because no further step can be recorded. */
  isFatal?: (error: unknown) => boolean;
  clock: Pick<Clock, "wallMs">;
  /** Stops the run; the next run retries the stage in progress. */
  signal: AbortSignal;
}>;

/** The record after a run; `waits` is the reason why the upgrade has not finished. */
export type RunResult<Upgrade> = Readonly<{ record: Upgrade; waits?: string | undefined }>;

/**
 * Runs an upgrade from its current stage to its end, or until a stage has to wait. Each stage is recorded on disk before it starts. Without
 * that record, a later run would resume at the wrong stage, and roll back a verified version or restore old data over itself.
 */
export async function runUpgrade<Stage extends string, Upgrade extends Progress<Stage>>(
  begun: Upgrade,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  dependencies: RunUpgradeDependencies<Stage, Upgrade>,
): Promise<RunResult<Upgrade>> {
  const { route, steps, remember, endsAt, onStage, onFailure, isFatal, clock, signal } = dependencies;
  const { resume = (upgrade: Upgrade, nowMs: number) => decideAfterInterruption(upgrade, nowMs, route) } = route;
  let record = isResumed ? resume(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  let isKept = await remember(record);
  const ended = "it was ended by a signal.";
  const amend = async (facts: Partial<Upgrade>) => {
    record = { ...record, ...facts };
    await remember(record);
  };
  while (record.end === undefined && endsAt?.(record.stage) !== true) {
    if (signal.aborted) return { record, waits: ended };
    if (!isKept) return { record, waits: "its progress can't be recorded." };
    onStage?.(record, { isResumed: isAgain });
    const outcome = await attempt(steps[record.stage], record, { amend, isResumed: isAgain });
    // A stage interrupted by a shutdown is neither done nor failed.
    if (signal.aborted) return { record, waits: ended };
    if (outcome.kind === "waits") return { record, waits: outcome.why };
    record = decideAfterStage(record, outcome, clock.wallMs(), route);
    isAgain = false;
    isKept = await remember(record);
    if (outcome.kind === "failed") await onFailure?.(outcome.why, record);
  }
  return { record };

  async function attempt(...[step, ...work]: [StageAction<Upgrade>, ...Parameters<StageAction<Upgrade>>]) {
    try {
      return await step(...work);
    } catch (error) {
      if (isFatal?.(error) === true) throw error;
      return { kind: "failed", why: (error as Error).message } as const;
    }
  }
}
