import type { Clock } from "#daemon/clock.ts";
import {
  decideAfterInterruption,
  decideAfterStage,
  type Progress,
  type Route,
  type StageOutcome,
} from "./next-stage.ts";

/**
 * Does the work of one stage. `amend` adds to the record, and resolves once that is on disk. `isResumed`: an earlier process ended within this stage. One that
 * throws has failed.
 */
export type StageStep<Upgrade> = (
  upgrade: Upgrade,
  how: Readonly<{ amend: (facts: Partial<Upgrade>) => Promise<void>; isResumed: boolean }>,
) => Promise<StageOutcome>;

export type StageSteps<Stage extends string, Upgrade> = Readonly<Record<Stage, StageStep<Upgrade>>>;

export type RunUpgradeDependencies<Stage extends string, Upgrade extends Progress<Stage>> = Readonly<{
  route: Route<Stage, Upgrade>;
  steps: StageSteps<Stage, Upgrade>;
  /** Records the upgrade; false if that is not on disk in time. */
  remember: (upgrade: Upgrade) => Promise<boolean>;
  /** Whether another call runs it from a stage on. */
  endsAt?: (stage: Stage) => boolean;
  /** Called before each stage. */
  onStage?: (upgrade: Upgrade, how: Readonly<{ isResumed: boolean }>) => void;
  /** Called after a stage that failed, with the record of the next. */
  onFailure?: (why: string, upgrade: Upgrade) => Promise<void>;
  /** Whether an error of a step ends the run, as it says that no step can be recorded. */
  isFatal?: (error: unknown) => boolean;
  clock: Pick<Clock, "wallMs">;
  /** Ends the run; the stage in progress is tried again. */
  signal: AbortSignal;
}>;

/** Record as a run left it; `waits`: the reason why it has not ended. */
export type RunResult<Upgrade> = Readonly<{ record: Upgrade; waits?: string | undefined }>;

/**
 * Runs an upgrade from its present stage to its end, or until a stage has to wait. Each stage is on disk before it begins: otherwise a later run would take it for
 * another one, and roll a verified version back or put old data back over themselves.
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
    // A stage that a stop cut off is neither done nor failed.
    if (signal.aborted) return { record, waits: ended };
    if (outcome.kind === "waits") return { record, waits: outcome.why };
    record = decideAfterStage(record, outcome, clock.wallMs(), route);
    isAgain = false;
    isKept = await remember(record);
    if (outcome.kind === "failed") await onFailure?.(outcome.why, record);
  }
  return { record };

  async function attempt(...[step, ...work]: [StageStep<Upgrade>, ...Parameters<StageStep<Upgrade>>]) {
    try {
      return await step(...work);
    } catch (error) {
      if (isFatal?.(error) === true) throw error;
      return { kind: "failed", why: (error as Error).message } as const;
    }
  }
}
