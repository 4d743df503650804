import type { Clock } from "#daemon/clock.ts";
import { advanceRecord, resumeRecord, stageWords, type StepOutcome } from "./next-stage.ts";
import type { StackRecord, StackStage } from "./stack-record.ts";

/** Does what belongs to a stage. Each may be done again after it was done, or half done: an earlier run may have been killed in it. */
export type StackSteps = Readonly<
  Record<StackStage, (record: StackRecord, isResumed: boolean) => Promise<StepOutcome>>
>;

export type RunStackUpgradeDependencies = Readonly<{
  steps: StackSteps;
  /** Resolves when the record is on the disk. */
  remember: (record: StackRecord) => Promise<void>;
  say: (line: string) => void;
  clock: Pick<Clock, "wallMs">;
  /** Ends the run between two steps. */
  signal: AbortSignal;
}>;

/** How a run left an upgrade, and why before its end. */
export type RunResult = Readonly<{ record: StackRecord; waits?: string | undefined }>;

/**
 * Carries an upgrade on from where it stands to its end, or until a step has to wait for a person. Each step is on the disk before it begins.
 * What a step throws counts as failed.
 */
export async function runStackUpgrade(
  begun: StackRecord,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  { steps, remember, say, clock, signal }: RunStackUpgradeDependencies,
): Promise<RunResult> {
  let record = isResumed ? resumeRecord(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  await remember(record);
  while (record.end === undefined) {
    if (signal.aborted) return { record, waits: "it was ended by a signal." };
    say(`${isAgain ? "Goes on with " : "Now "}${stageWords[record.stage]}.`);
    const outcome = await attempt(steps, record, isAgain);
    if (outcome.kind === "waits") return { record, waits: outcome.why };
    if (outcome.kind === "failed") say(`Failed: ${outcome.why}`);
    record = advanceRecord(record, outcome, clock.wallMs());
    isAgain = false;
    await remember(record);
  }
  return { record };
}

async function attempt(steps: StackSteps, record: StackRecord, isResumed: boolean): Promise<StepOutcome> {
  try {
    return await steps[record.stage](record, isResumed);
  } catch (error) {
    return { kind: "failed", why: (error as Error).message };
  }
}
