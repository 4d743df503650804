import type { Clock } from "#daemon/clock.ts";
import type { UpgradeRecord, UpgradeStage } from "../state/upgrade-record.ts";
import { afterInterruption, afterStep, type StepOutcome } from "./next-stage.ts";

/**
 * Does what belongs to a stage. Each may be done again after it was done, or half done: an earlier sidecar may have been killed in it.
 * `isResumed`: one was.
 */
export type UpgradeSteps = Readonly<
  Record<UpgradeStage, (record: UpgradeRecord, isResumed: boolean) => Promise<StepOutcome>>
>;

export type RunUpgradeDependencies = Readonly<{
  steps: UpgradeSteps;
  remember: (record: UpgradeRecord) => void;
  /** Waits until what was remembered last is on the disk; false when it can't be written. */
  isKept: () => Promise<boolean>;
  clock: Pick<Clock, "wallMs">;
  signal: AbortSignal;
}>;

/**
 * Carries an upgrade on from where it stands to its end; returns how it stands then. Each step is on the disk before it begins: where that can't be, it
 * returns before the step. A stop of the sidecar ends it between two steps, or in one that is done again later. What a step throws is a fault of its
 * own, and counts as failed.
 */
export async function runUpgrade(
  begun: UpgradeRecord,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  { steps, remember, isKept, clock, signal }: RunUpgradeDependencies,
): Promise<UpgradeRecord> {
  let record = isResumed ? afterInterruption(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  remember(record);
  while (record.end === undefined && !signal.aborted) {
    if (!(await isKept())) return record;
    const outcome = await attempt(steps, record, isAgain);
    // What a stop cut off is neither done nor failed.
    if (signal.aborted) return record;
    record = afterStep(record, outcome, clock.wallMs());
    isAgain = false;
    remember(record);
  }
  return record;
}

async function attempt(steps: UpgradeSteps, record: UpgradeRecord, isResumed: boolean): Promise<StepOutcome> {
  try {
    return await steps[record.stage](record, isResumed);
  } catch (error) {
    return { ok: false, why: (error as Error).message };
  }
}
