import type { Clock } from "#daemon/clock.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { IterationMetrics } from "./upkeep-metrics.ts";

/** Reports the result of each iteration as a condition and a metric. */
export type IterationWatch = Readonly<{
  made: () => void;
  failed: (error: unknown) => void;
  /** Reports that an iteration has exceeded its time limit; `waitsFor` is its current step. */
  late: (waitsFor: string) => void;
}>;

/**
 * Sets the condition `Reconciling`: the conditions for the configuration, pruning and restarts are only as current as the last iteration.
 * Before the first iteration, nothing is known.
 */
export function watchIterations(
  { deadlineMs }: Readonly<{ deadlineMs: number }>,
  { board, clock, metrics }: Readonly<{ board: ConditionBoard; clock: Clock; metrics: IterationMetrics }>,
): IterationWatch {
  const type = "Reconciling";
  let madeAtMs: number | undefined;
  let failedSinceMs: number | undefined;
  const describeOld = () =>
    madeAtMs === undefined
      ? "node.conf, pruning and restarts have not been checked yet and are not being managed."
      : `node.conf, pruning and restarts were last checked at ${formatTime(madeAtMs)} and have not been managed since.`;
  board.set({ type, status: "Unknown", reason: "NotReconciledYet", message: "The node has not been checked yet." });
  return {
    made: () => {
      madeAtMs = clock.wallMs();
      failedSinceMs = undefined;
      metrics.made(madeAtMs);
      board.set({
        type,
        status: "True",
        reason: "Reconciling",
        message: `The last reconcile completed at ${formatTime(madeAtMs)}.`,
      });
    },
    failed: (error) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const words = error instanceof Error ? error.message : String(error);
      const message = `${describeOld()} All reconciles since ${formatTime(failedSinceMs)} have failed; retrying every second: ${words}`;
      board.set({ type, status: "False", reason: "Failing", message });
    },
    late: (waitsFor) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const message =
        `The reconcile that started before ${formatTime(clock.wallMs() - deadlineMs)} has not finished (limit: ${deadlineMs} ms): ` +
        `it is still ${waitsFor}. Fix that, or restart the sidecar. ${describeOld()}`;
      board.set({ type, status: "False", reason: "Stuck", message });
    },
  };
}

function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
