import type { Logger } from "#daemon/log.ts";
import { pause } from "../poll.ts";

/** When the loop runs. */
export type ReconcileLoopOptions = Readonly<{
  /** Longest time between two passes. */
  maxIdleMs: number;
  signal: AbortSignal;
}>;

/** A loop that brings the node nearer to what is desired, one pass at a time. */
export type ReconcileLoop = Readonly<{
  /** Asks for a pass; any number of calls before it begins are one. */
  wake: () => void;
  done: Promise<void>;
}>;

/** Time until a pass that threw is tried again. */
const retryMs = 1_000;

/**
 * Runs passes: at once, whenever woken, and when the last pass asked for the next. Events only wake it, so that nothing is done
 * twice or inside an event callback.
 */
export function startReconcileLoop(
  options: ReconcileLoopOptions,
  pass: () => Promise<Readonly<{ wakeInMs?: number }>>,
  { log }: Readonly<{ log: Logger }>,
): ReconcileLoop {
  let wanted = new AbortController();
  const run = async () => {
    while (!options.signal.aborted) {
      wanted = new AbortController();
      let waitMs = options.maxIdleMs;
      try {
        const { wakeInMs } = await pass();
        waitMs = Math.min(waitMs, Math.max(1, wakeInMs ?? waitMs));
      } catch (error) {
        log.error({ err: error }, "a pass of the upkeep failed; it is tried again");
        waitMs = Math.min(waitMs, retryMs);
      }
      await pause(waitMs, AbortSignal.any([options.signal, wanted.signal]));
    }
  };
  return { wake: () => wanted.abort(), done: run() };
}
