import type { Clock } from "#daemon/clock.ts";
import { decideAfterInterruption, decideAfterStage, StageError, type Progress, type Route } from "./next-stage.ts";

/**
 * Runs one stage; throws if it failed. `amend` adds to the record, and resolves once the addition is on disk. `isResumed`: an earlier
 * process exited during this stage.
 */
export type StageAction<Upgrade> = (
  upgrade: Upgrade,
  how: Readonly<{ amend: (facts: Partial<Upgrade>) => Promise<void>; isResumed: boolean }>,
) => Promise<void>;

export type StageSteps<Upgrade extends Progress> = Readonly<Record<Upgrade["stage"], StageAction<Upgrade>>>;

export type RunUpgradeDependencies<Upgrade extends Progress> = Readonly<{
  route: Route<Upgrade>;
  steps: StageSteps<Upgrade>;
  /** Records the upgrade; returns false if the record is not on disk in time. */
  remember: (upgrade: Upgrade) => Promise<boolean>;
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
export async function runUpgrade<Upgrade extends Progress>(
  begun: Upgrade,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  dependencies: RunUpgradeDependencies<Upgrade>,
): Promise<RunResult<Upgrade>> {
  const { route, steps, remember, onStage, onFailure, isFatal, clock, signal } = dependencies;
  const { resume = (upgrade: Upgrade, nowMs: number) => decideAfterInterruption(upgrade, nowMs, route) } = route;
  let record = isResumed ? resume(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  let isKept = await remember(record);
  const stopped = "it was stopped by a signal.";
  const amend = async (facts: Partial<Upgrade>) => {
    record = { ...record, ...facts };
    await remember(record);
  };
  while (record.end === undefined) {
    if (signal.aborted) return { record, waits: stopped };
    if (!isKept) return { record, waits: "its progress can't be recorded." };
    onStage?.(record, { isResumed: isAgain });
    const failed = await runStage();
    // A stage interrupted by a shutdown is neither done nor failed.
    if (signal.aborted) return { record, waits: stopped };
    if (failed?.kind === "waits") return { record, waits: failed.message };
    record = decideAfterStage(record, failed, clock.wallMs(), route);
    isAgain = false;
    isKept = await remember(record);
    if (failed !== undefined) await onFailure?.(failed.message, record);
  }
  return { record };

  async function runStage(): Promise<StageError | undefined> {
    try {
      const stage: Upgrade["stage"] = record.stage;
      await steps[stage](record, { amend, isResumed: isAgain });
      return undefined;
    } catch (error) {
      if (isFatal?.(error) === true) throw error;
      return error instanceof StageError ? error : new StageError((error as Error).message, "failed", { cause: error });
    }
  }
}
