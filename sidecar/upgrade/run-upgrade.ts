import type { Clock } from "#daemon/clock.ts";
import {
  decideAfterInterruption,
  decideAfterStage,
  UpgradeError,
  type ForwardStage,
  type Progress,
  type Stage,
} from "./progress.ts";

/** `amend` resolves once its addition is on disk. `isResumed`: an earlier process exited during this stage. */
export type StageAction<Upgrade> = (
  upgrade: Upgrade,
  how: Readonly<{ amend: (facts: Partial<Upgrade>) => Promise<void>; isResumed: boolean }>,
) => Promise<void>;

/** How an upgrade works where the node runs: on this machine, a Docker engine or a cluster. */
export type UpgradePlatform<Upgrade extends Progress> = Readonly<{
  /** Each stage is idempotent, even when half done, because an earlier process may have been killed while running it. */
  stages: Readonly<Record<Stage, StageAction<Upgrade>>>;
  /** First stage in which the new version may run, whoever starts it, and may write to the data. */
  touches: ForwardStage;
  /** Throws if the node has run since it was stopped. */
  requireUnchanged: (upgrade: Upgrade) => Promise<void>;
}>;

export type RunUpgradeDependencies<Upgrade extends Progress> = Readonly<{
  platform: UpgradePlatform<Upgrade>;
  /** Records the upgrade; resolves once the record is on disk, and throws an {@link UpgradeError} if that fails. */
  remember: (upgrade: Upgrade) => Promise<void>;
  onStage?: (upgrade: Upgrade, how: Readonly<{ isResumed: boolean }>) => void;
  /** Called after a failed stage, with the record of the next stage. */
  onFailure?: (why: string, upgrade: Upgrade) => Promise<void>;
  clock: Pick<Clock, "wallMs">;
  /** Stops the run; the next run retries the stage in progress. */
  signal: AbortSignal;
}>;

/** The record after a run; `waits` is the reason why the upgrade has not finished. */
export type RunResult<Upgrade> = Readonly<{ record: Upgrade; waits?: string | undefined }>;

/** Stages that use the files of a stopped node: a supervisor, a reboot or an operator may have started it since. */
const stagesNeedingUnchanged: ReadonlySet<Stage> = new Set(["copying", "installing", "back-installing", "back-data"]);

/**
 * Runs an upgrade from its current stage to its end, or until a stage has to wait. Each stage is recorded on disk before it starts. Without
 * that record, a later run would resume at the wrong stage, and roll back a verified version or restore old data over itself.
 *
 * @throws {UpgradeError} if the record can't be written.
 */
export async function runUpgrade<Upgrade extends Progress>(
  startedUpgrade: Upgrade,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  { platform, remember, onStage, onFailure, clock, signal }: RunUpgradeDependencies<Upgrade>,
): Promise<RunResult<Upgrade>> {
  const { stages, touches, requireUnchanged } = platform;
  let record = isResumed ? decideAfterInterruption(startedUpgrade, clock.wallMs(), touches) : startedUpgrade;
  let isResumedStage = isResumed && record.stage === startedUpgrade.stage;
  const amend = async (facts: Partial<Upgrade>) => {
    record = { ...record, ...facts };
    await remember(record);
  };
  await remember(record);
  while (record.end === undefined) {
    const stageFailure = await runStage();
    // A stage interrupted by a shutdown is neither done nor failed.
    const waits = signal.aborted
      ? "it was stopped by a signal."
      : stageFailure?.kind === "waits"
        ? stageFailure.message
        : undefined;
    // Waiting is not the stage's fault.
    record =
      waits === undefined
        ? decideAfterStage(record, stageFailure, clock.wallMs(), touches)
        : { ...record, interruptions: 0 };
    await remember(record);
    if (waits !== undefined) return { record, waits };
    isResumedStage = false;
    if (stageFailure !== undefined) await onFailure?.(stageFailure.message, record);
  }
  return { record };

  async function runStage(): Promise<UpgradeError | undefined> {
    if (signal.aborted) return undefined;
    const { stage }: Progress = record;
    onStage?.(record, { isResumed: isResumedStage });
    try {
      if (stagesNeedingUnchanged.has(stage)) await requireUnchanged(record);
      await stages[stage](record, { amend, isResumed: isResumedStage });
      // A node that was started in the meantime has changed the data under the copy.
      if (stage === "copying") await requireUnchanged(record);
      return undefined;
    } catch (error) {
      if (!(error instanceof UpgradeError))
        return new UpgradeError((error as Error).message, "failed", { cause: error });
      if (error.kind === "fatal") throw error;
      return error;
    }
  }
}
