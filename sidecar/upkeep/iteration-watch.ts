import type { Clock } from "#daemon/clock.ts";
import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import { findStateFailure, type StoreState } from "./state/state-observation.ts";
import type { IterationMetrics } from "./upkeep-metrics.ts";

export type IterationWatch = ReturnType<typeof watchIterations>;

export type IterationState = Readonly<{
  result?: "none" | Readonly<{ madeAtMs: number }> | Readonly<{ reason: "Failing" | "Stuck"; message: string }>;
}>;

export type ObservedIterations = Observation<IterationState>;

export function watchIterations(
  { deadlineMs }: Readonly<{ deadlineMs: number }>,
  seen: ObservedIterations,
  { clock, metrics }: Readonly<{ clock: Clock; metrics: IterationMetrics }>,
) {
  let madeAtMs: number | undefined;
  let failedSinceMs: number | undefined;
  const describeOld = () =>
    madeAtMs === undefined
      ? "node.conf, pruning and restarts have not been checked yet and are not being managed."
      : `node.conf, pruning and restarts were last checked at ${formatTime(madeAtMs)} and have been unmanaged since.`;
  seen.note({ result: "none" });
  return {
    made: () => {
      madeAtMs = clock.wallMs();
      failedSinceMs = undefined;
      metrics.made(madeAtMs);
      seen.note({ result: { madeAtMs } });
    },
    failed: (error: unknown) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const cause = error instanceof Error ? error.message : String(error);
      const message = `${describeOld()} All reconciles since ${formatTime(failedSinceMs)} have failed; retrying every second: ${cause}`;
      seen.note({ result: { reason: "Failing", message } });
    },
    late: (waitsFor: string) => {
      failedSinceMs ??= clock.wallMs();
      metrics.failed();
      const message =
        `The reconcile that started before ${formatTime(clock.wallMs() - deadlineMs)} has not finished (limit: ${deadlineMs} ms): ` +
        `it is still ${waitsFor}. Fix that, or restart the sidecar. ${describeOld()}`;
      seen.note({ result: { reason: "Stuck", message } });
    },
  };
}

/** Other conditions are only as current as the last iteration, and without stored state nothing is changed. Pure. */
export function deriveReconcileConditions(
  { result }: IterationState,
  state: StoreState,
): readonly ConditionReport<"Reconciling">[] {
  const type = "Reconciling";
  const failure = findStateFailure(state);
  if (typeof result === "object" && "reason" in result) {
    const { reason, message } = result;
    return [
      { type, status: "False", reason, message: failure === undefined ? message : `${message} ${failure.message}` },
    ];
  }
  if (failure !== undefined) return [{ type, status: "False", ...failure }];
  if (result === undefined) return [];
  if (result === "none") {
    return [{ type, status: "Unknown", reason: "NotReconciledYet", message: "The node has not been checked yet." }];
  }
  const message = `The last reconcile completed at ${formatTime(result.madeAtMs)}. The sidecar's state is in ${state.directory}.`;
  return [{ type, status: "True", reason: "Reconciling", message }];
}

function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
