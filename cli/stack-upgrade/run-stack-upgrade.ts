import { stageWords } from "#sidecar/upgrade/progress.ts";
import { runUpgrade, type RunResult as Result } from "#sidecar/upgrade/run-upgrade.ts";
import type { StackRecord } from "./stack-record.ts";
import { createStackUpgrade } from "./stack-stages.ts";
import type { StackWork } from "./stack-work.ts";

export type RunResult = Result<StackRecord>;

/** Pause before the next rollback attempt: a failure may be temporary. */
const betweenTriesMs = 10_000;

/**
 * Runs a stack upgrade from its current stage to its end, or until a stage has to wait for the operator. `remember` resolves once the
 * record is on disk.
 */
export function runStackUpgrade(
  begun: StackRecord,
  { isResumed, remember }: Readonly<{ isResumed: boolean; remember: (record: StackRecord) => Promise<void> }>,
  work: StackWork,
): Promise<RunResult> {
  const { say, clock, pause, signal } = work;
  const onStage = ({ stage }: StackRecord, { isResumed: isAgain }: Readonly<{ isResumed: boolean }>) =>
    say(`${isAgain ? "Resuming: " : "Now "}${stageWords[stage]}.`);
  const onFailure = async (why: string, { attempts, end }: StackRecord) => {
    say(`Failed: ${why}`);
    if (attempts > 0 && end === undefined) await pause(betweenTriesMs, signal);
  };
  const platform = createStackUpgrade(work);
  return runUpgrade(begun, { isResumed }, { platform, remember, onStage, onFailure, clock, signal });
}
