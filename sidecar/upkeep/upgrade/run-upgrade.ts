import type { Clock } from "#daemon/clock.ts";
import { waitUntil } from "#daemon/time.ts";
import type { UpgradeRecord, UpgradeStage } from "../state/upgrade-record.ts";
import type { StateStore } from "../state/state-store.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { decideAfterInterruption, decideAfterStep, isStart, type StepOutcome } from "./next-stage.ts";

/**
 * Steps of an upgrade, one for each stage. Each may be repeated after it was done or half done: an earlier sidecar may have been killed in it.
 * `isResumed`: one was.
 */
export type UpgradeSteps = Readonly<
  Record<UpgradeStage, (record: UpgradeRecord, isResumed: boolean) => Promise<StepOutcome>>
>;

export type RunUpgradeDependencies = Readonly<{
  steps: UpgradeSteps;
  remember: (record: UpgradeRecord) => void;
  /** Waits until the last record is on disk; false if it can't be written. */
  isKept: () => Promise<boolean>;
  clock: Pick<Clock, "wallMs">;
  signal: AbortSignal;
}>;

/**
 * Runs an upgrade from its present stage to its end; returns the last record. Each step is on disk before it begins: if that can't be, it
 * returns before the step. A stop of the sidecar ends it between two steps, or in one that is repeated later. A step that throws
 * has failed.
 */
export async function runUpgrade(
  begun: UpgradeRecord,
  {
    isResumed,
    ends = () => false,
  }: Readonly<{
    isResumed: boolean;
    /** Whether another call runs it from a stage on. */ ends?: (stage: UpgradeStage) => boolean;
  }>,
  { steps, remember, isKept, clock, signal }: RunUpgradeDependencies,
): Promise<UpgradeRecord> {
  let record = isResumed ? decideAfterInterruption(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  remember(record);
  while (record.end === undefined && !signal.aborted && !ends(record.stage)) {
    if (!(await isKept())) return record;
    const outcome = await attempt(steps, record, isAgain);
    // A step that a stop cut off is neither done nor failed.
    if (signal.aborted) return record;
    record = decideAfterStep(record, outcome, clock.wallMs());
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

/**
 * Saves the progress of an upgrade, and charges the restart budget if its next step starts the node, in one write: after a kill the step is resumed, and
 * not charged again.
 */
export function keepRecord(
  record: UpgradeRecord,
  {
    state,
    budget,
  }: Readonly<{ state: Pick<UpkeepState, "atomically" | "upgrade">; budget: Pick<RestartBudget, "record"> }>,
): void {
  const isEntered = state.upgrade.get()?.stage !== record.stage;
  state.atomically(() => {
    const reason = record.restoredFrom === undefined ? `upgrade to ${record.to}` : "restore of the data";
    if (isEntered && isStart(record.stage)) budget.record(reason);
    state.upgrade.set(record);
  });
}

export type KeptRecordDependencies = Readonly<{
  store: Pick<StateStore, "isWritable" | "failure">;
  /** Called with the reason why the next step does not begin, and with undefined once it can. */
  blocked: (why: string | undefined) => void;
  clock: Pick<Clock, "monotonicMs">;
  signal: AbortSignal;
}>;

/** Time for which, and interval at which, a write is retried before the upgrade pauses until the state can be kept. */
const keptWithinMs = 30_000;
const tryAgainMs = 500;

/**
 * Waits until the record of an upgrade is on disk; false if that does not happen in time. A step that is not recorded
 * would be taken for another one after a kill: a proved version would be rolled back, or the old data put back over themselves.
 */
export async function isRecordKept({ store, blocked, clock, signal }: KeptRecordDependencies): Promise<boolean> {
  const look = () => {
    const isKept = store.failure() === undefined || store.isWritable();
    blocked(isKept ? undefined : explainNotKept(store));
    return isKept;
  };
  return await waitUntil(look, Boolean, { everyMs: tryAgainMs, withinMs: keptWithinMs, signal }, clock);
}

/** Explains why an upgrade can't go on while its state can't be kept; undefined if it can be. */
export function explainNotKept({ failure }: Pick<StateStore, "failure">): string | undefined {
  const failed = failure();
  return failed && `It can't go on, because how far it is can't be kept: ${failed.message} It goes on by itself then.`;
}
