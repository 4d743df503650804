import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import { advanceRecord, isBackward, resumeRecord, stageWords, type StepOutcome } from "./next-stage.ts";
import { RecordError, type StackAmendment, type StackRecord, type StackStage } from "./stack-record.ts";

/** Adds to the record; resolves once it is on disk. */
export type AmendRecord = (amendment: StackAmendment) => Promise<void>;

/** Does the work of one stage. */
export type StackStep = (record: StackRecord, amend: AmendRecord) => Promise<StepOutcome>;

/** Steps by stage. Each can be repeated after it was done or half done: an earlier run may have been killed in it. */
export type StackSteps = Readonly<Record<StackStage, StackStep>>;

export type RunStackUpgradeDependencies = Readonly<{
  steps: StackSteps;
  /** Resolves once the record is on disk. */
  remember: (record: StackRecord) => Promise<void>;
  say: (line: string) => void;
  clock: Pick<Clock, "wallMs">;
  pause: Pause;
  /** Ends the run between two steps. */
  signal: AbortSignal;
}>;

/** Pause before another try of the way back: its failure may be temporary. */
const betweenTriesMs = 10_000;

/** Record as a run left it; `waits`: the reason why it has not ended. */
export type RunResult = Readonly<{ record: StackRecord; waits?: string | undefined }>;

/**
 * Runs an upgrade from its current stage to its end, or until a step has to wait for a person. Each step is on disk before it begins. A
 * step that throws has failed.
 */
export async function runStackUpgrade(
  begun: StackRecord,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  { steps, remember, say, clock, pause, signal }: RunStackUpgradeDependencies,
): Promise<RunResult> {
  let record = isResumed ? resumeRecord(begun, clock.wallMs()) : begun;
  let isAgain = isResumed && record.stage === begun.stage;
  const amend: AmendRecord = async (amendment) => {
    record = { ...record, ...amendment };
    await remember(record);
  };
  await remember(record);
  while (record.end === undefined) {
    if (signal.aborted) return await wait("it was ended by a signal.");
    say(`${isAgain ? "Goes on with " : "Now "}${stageWords[record.stage]}.`);
    const { stage } = record;
    const outcome = await attempt(steps[stage], record, amend);
    if (outcome.kind === "waits") return await wait(outcome.why);
    if (outcome.kind === "failed") say(`Failed: ${outcome.why}`);
    record = advanceRecord(record, outcome, clock.wallMs());
    isAgain = false;
    await remember(record);
    if (outcome.kind === "failed" && isBackward(stage) && record.end === undefined) await pause(betweenTriesMs, signal);
  }
  return { record };

  async function wait(why: string): Promise<RunResult> {
    await amend({ waitsFor: record.waitsFor ?? "other" });
    return { record, waits: why };
  }
}

async function attempt(step: StackStep, record: StackRecord, amend: AmendRecord): Promise<StepOutcome> {
  try {
    return await step(record, amend);
  } catch (error) {
    // No step is begun that is not on disk.
    if (error instanceof RecordError) throw error;
    return { kind: "failed", why: (error as Error).message };
  }
}
