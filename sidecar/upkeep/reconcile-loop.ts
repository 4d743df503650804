import type { Logger } from "#daemon/log/log.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { pause, pauseWhileRunning } from "#daemon/time.ts";
import type { IterationWatch } from "./iteration-watch.ts";

export type ReconcileLoopOptions = Readonly<{
  maxIdleMs: number;
  /** Time, while this process is running, after which an iteration counts as hung. */
  deadlineMs: number;
  signal: AbortSignal;
}>;

export type ReconcileLoopDependencies = Readonly<{
  log: Logger;
  watch: IterationWatch;
  waitsFor: () => string;
}>;

const retryMs = 1_000;

const stopWithinMs = 2_000;

/**
 * Runs iterations: at once, on each wake-up, and when the last one requested it. Events only wake the loop. A hung iteration is reported
 * after its deadline; no other runs in parallel, and a shutdown doesn't wait for it.
 */
export function startReconcileLoop(
  { maxIdleMs, deadlineMs, signal }: ReconcileLoopOptions,
  pass: () => Promise<Readonly<{ wakeInMs?: number }>>,
  { log, watch, waitsFor }: ReconcileLoopDependencies,
) {
  let wakeController = new AbortController();
  const attempt = async (): Promise<number> => {
    try {
      const { wakeInMs } = await pass();
      return Math.min(maxIdleMs, Math.max(1, wakeInMs ?? maxIdleMs));
    } catch (error) {
      if (signal.aborted) return 0;
      log.error({ event: "reconcile-failed", err: error }, "a reconcile failed; retrying");
      watch.failed(error);
      return Math.min(maxIdleMs, retryMs);
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      wakeController = new AbortController();
      const over = new AbortController();
      const made = attempt().finally(() => over.abort());
      await pauseWhileRunning(deadlineMs, AbortSignal.any([signal, over.signal]));
      if (!over.signal.aborted && !signal.aborted) watch.late(waitsFor());
      const waitMs = await Promise.race([made, waitForStop(signal, over.signal)]);
      await pause(waitMs, AbortSignal.any([signal, wakeController.signal]));
    }
  };
  return {
    wake: () => wakeController.abort(),
    done: run(),
  };
}

/** Waits until `stopWithinMs` after the shutdown was requested, or until the iteration ends. */
async function waitForStop(stopping: AbortSignal, over: AbortSignal): Promise<number> {
  await waitForAbort(AbortSignal.any([stopping, over]));
  await pause(stopWithinMs, over);
  return 0;
}
