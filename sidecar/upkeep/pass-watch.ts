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
      ? "Nothing is known of node.conf, pruning and restarts yet, and nobody looks after them."
      : `What is known of node.conf, pruning and restarts is from ${formatTime(madeAtMs)}; nobody has looked after them since.`;
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
        message: `The node was looked at ${formatTime(madeAtMs)}.`,
      });
    },
    failed: (error) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const words = error instanceof Error ? error.message : String(error);
      const message = `${describeOld()} Each look since ${formatTime(failedSinceMs)} has failed, and is tried again every second: ${words}`;
      board.set({ type, status: "False", reason: "Failing", message });
    },
    late: (waitsFor) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const message =
        `The look that began before ${formatTime(clock.wallMs() - deadlineMs)} has not ended (allowed: ${deadlineMs} ms, upkeep.passDeadlineMs): ` +
        `it is still ${waitsFor}. See that this answers, or restart the sidecar. ${describeOld()}`;
      board.set({ type, status: "False", reason: "Stuck", message });
    },
  };
}

function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
