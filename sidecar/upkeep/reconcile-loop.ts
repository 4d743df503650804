import type { Logger } from "#daemon/log/log.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { pause, pauseWhileRunning } from "#daemon/time.ts";
import type { PassWatch } from "./pass-watch.ts";

export type ReconcileLoopOptions = Readonly<{
  /** Longest time between two passes. */
  maxIdleMs: number;
  /** Time from which a pass counts as hanging, of that in which this process ran. */
  deadlineMs: number;
  signal: AbortSignal;
}>;

export type ReconcileLoopDependencies = Readonly<{
  log: Logger;
  watch: PassWatch;
  /** Work of the running pass, for the report of one that hangs. */
  waitsFor: () => string;
}>;

/** A loop that brings the node nearer to what is desired, one pass at a time. */
export type ReconcileLoop = Readonly<{
  /** Requests a pass; any number of calls before it begins are one. */
  wake: () => void;
  done: Promise<void>;
}>;

/** Time until a pass that threw is tried again. */
const retryMs = 1_000;

/** Time for which a stop waits for the running pass. */
const stopWithinMs = 2_000;

/**
 * Runs passes: at once, whenever woken, and at the time that the last pass requested. Events only wake it, so that nothing is done
 * twice or inside an event callback. A pass that hangs is reported after its deadline; no other begins alongside it, and a stop does not wait for it.
 */
export function startReconcileLoop(
  { maxIdleMs, deadlineMs, signal }: ReconcileLoopOptions,
  pass: () => Promise<Readonly<{ wakeInMs?: number }>>,
  { log, watch, waitsFor }: ReconcileLoopDependencies,
): ReconcileLoop {
  let wanted = new AbortController();
  const attempt = async (): Promise<number> => {
    try {
      const { wakeInMs } = await pass();
      return Math.min(maxIdleMs, Math.max(1, wakeInMs ?? maxIdleMs));
    } catch (error) {
      if (signal.aborted) return 0;
      log.error({ event: "reconcile-failed", err: error }, "a pass of the upkeep failed; it is tried again");
      watch.failed(error);
      return Math.min(maxIdleMs, retryMs);
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      wanted = new AbortController();
      const over = new AbortController();
      const made = attempt().finally(() => over.abort());
      await pauseWhileRunning(deadlineMs, AbortSignal.any([signal, over.signal]));
      if (!over.signal.aborted && !signal.aborted) watch.late(waitsFor());
      const waitMs = await Promise.race([made, waitForStop(signal, over.signal)]);
      await pause(waitMs, AbortSignal.any([signal, wanted.signal]));
    }
  };
  return { wake: () => wanted.abort(), done: run() };
}

/** Waits until `stopWithinMs` after the stop began, or until the pass is over. */
async function waitForStop(stopping: AbortSignal, over: AbortSignal): Promise<number> {
  await waitForAbort(AbortSignal.any([stopping, over]));
  await pause(stopWithinMs, over);
  return 0;
}
