import { decideAfterInterruption, startRollback, type Route } from "#sidecar/upgrade/next-stage.ts";
import { runUpgrade, type RunResult as Result } from "#sidecar/upgrade/run-upgrade.ts";
import { forwardStages, RecordError, type BackwardStage, type StackRecord } from "./stack-record.ts";
import { createStackSteps } from "./stack-steps.ts";
import type { StackWork } from "./stack-work.ts";

export type RunResult = Result<StackRecord>;

/** Pause before the next rollback attempt: a failure may be temporary. */
const betweenTriesMs = 10_000;

/**
 * Runs a stack upgrade from its current stage to its end, or until a stage has to wait for the operator. `remember` resolves once the
 * record is on disk.
 */
export async function runStackUpgrade(
  begun: StackRecord,
  { isResumed, remember }: Readonly<{ isResumed: boolean; remember: (record: StackRecord) => Promise<void> }>,
  work: StackWork,
): Promise<RunResult> {
  const { say, clock, pause, signal } = work;
  const result = await runUpgrade(
    begun,
    { isResumed },
    {
      route: stackRoute,
      steps: createStackSteps(work),
      remember: async (record) => {
        await remember(record);
        return true;
      },
      onStage: ({ stage }, { isResumed: isAgain }) =>
        say(`${isAgain ? "Resuming: " : "Now "}${stackRoute.words[stage]}.`),
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
  const record = { ...result.record, waited: true };
  await remember(record);
  return { ...result, record };
}

/** Stages of a stack upgrade. */
export const stackRoute: Route<StackRecord> = {
  runner: "the command",
  forward: forwardStages,
  back: listBackward,
  resume: resumeRecord,
  cleanups: { cleaning: "committed", "back-cleaning": "rolled-back" },
  facts: (stage) => ({
    waited: undefined,
    ...(stage === "configuring" ? { configured: true } : {}),
    ...(stage === "updating" ? { newRan: true } : {}),
  }),
  words: {
    stopping: "stopping the sidecar and the node",
    copying: "copying the node's data and node.conf",
    configuring: "setting the new image in the stack's configuration",
    updating: "running pulumi up with the new image",
    proving: "verifying the new version",
    cleaning: "removing the copy of the data",
    "back-stopping": "stopping the sidecar and the node for the rollback",
    "back-discarding": "removing the copy of the data for the rollback",
    "back-starting": "starting the node and the sidecar as they were",
    "back-configuring": "setting the old image in the stack's configuration",
    "back-data": "restoring the old data and node.conf",
    "back-updating": "running pulumi up with the old image",
    "back-proving": "verifying the old version",
    "back-cleaning": "removing the copy of the data after the rollback",
  },
};

/** Resumes a record at the stage where an earlier run stopped; restarts the rollback of a stranded record, because the operator requests it. Pure. */
function resumeRecord(record: StackRecord, nowMs: number): StackRecord {
  if (record.end === "stranded") {
    // The operator has seen the progress and wants to continue.
    const restored = record.restored === "whole" ? record.restored : undefined;
    const again = { end: undefined, note: undefined, attempts: 0 };
    return startRollback({ ...record, restored }, again, nowMs, stackRoute);
  }
  // Waiting is not the stage's fault.
  if (record.waited === true) return { ...record, waited: undefined };
  return decideAfterInterruption(record, nowMs, stackRoute);
}

/** Lists the stages of the rollback. If only the old version has run, nothing has to stop: the node is started again before Pulumi runs. */
function listBackward({ newRan, configured }: StackRecord): readonly [BackwardStage, ...BackwardStage[]] {
  if (newRan) {
    // The data is restored after the configuration, so that only the old version can be started on the restored data.
    return ["back-stopping", "back-configuring", "back-data", "back-updating", "back-proving", "back-cleaning"];
  }
  const configuring = configured ? (["back-configuring"] as const) : [];
  return ["back-discarding", "back-starting", ...configuring, "back-proving", "back-cleaning"];
}
