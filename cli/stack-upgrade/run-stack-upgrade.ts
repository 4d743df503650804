import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import {
  runUpgrade,
  type RunResult as Result,
  type StageAction,
  type StageSteps,
} from "#sidecar/upgrade/run-upgrade.ts";
import { RecordError, type StackAmendment, type StackRecord, type StackStage } from "./stack-record.ts";
import { stackRoute } from "./stack-route.ts";

/** Adds to the record; resolves once it is on disk. */
export type AmendRecord = (amendment: StackAmendment) => Promise<void>;

export type StackStep = StageAction<StackRecord>;
export type StackSteps = StageSteps<StackStage, StackRecord>;
export type RunResult = Result<StackRecord>;

export type RunStackUpgradeDependencies = Readonly<{
  steps: StackSteps;
  /** Resolves once the record is on disk. */
  remember: (record: StackRecord) => Promise<void>;
  say: (line: string) => void;
  clock: Pick<Clock, "wallMs">;
  pause: Pause;
  /** Stops the run between two stages. */
  signal: AbortSignal;
}>;

/** Pause before the next rollback attempt: a failure may be temporary. */
const betweenTriesMs = 10_000;

/** Runs a stack upgrade from its current stage to its end, or until a stage has to wait for the operator. */
export async function runStackUpgrade(
  begun: StackRecord,
  { isResumed }: Readonly<{ isResumed: boolean }>,
  { steps, remember, say, clock, pause, signal }: RunStackUpgradeDependencies,
): Promise<RunResult> {
  const result = await runUpgrade(
    begun,
    { isResumed },
    {
      route: stackRoute,
      steps,
      remember: async (record) => {
        await remember(record);
        return true;
      },
      onStage: ({ stage }, { isResumed: isAgain }) =>
        say(`${isAgain ? "Goes on with " : "Now "}${stackRoute.words[stage]}.`),
      onFailure: async (why, { attempts, end }) => {
        say(`Failed: ${why}`);
        if (attempts > 0 && end === undefined) await pause(betweenTriesMs, signal);
      },
      isFatal: (error) => error instanceof RecordError,
      clock,
      signal,
    },
  );
  if (result.waits === undefined) return result;
  const record = { ...result.record, waitsFor: result.record.waitsFor ?? ("other" as const) };
  await remember(record);
  return { ...result, record };
}
