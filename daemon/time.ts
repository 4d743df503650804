import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "./log.ts";

/** What is done again and again. */
export type PollOptions = Readonly<{
  name: string;
  intervalMs: number;
  /** Ends the polling and is handed to the task. */
  signal: AbortSignal;
}>;

/**
 * Runs a task now and then `intervalMs` after each end of it, so that it never overlaps itself. What the task throws is logged
 * and does not end the polling. Resolves when the signal aborts.
 */
export async function poll(
  { name, intervalMs, signal }: PollOptions,
  task: (signal: AbortSignal) => Promise<void>,
  { log }: Readonly<{ log: Logger }>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task(signal);
    } catch (error) {
      if (!signal.aborted) log.error({ err: error, task: name }, "periodic task failed");
    }
    await pause(intervalMs, signal);
  }
}

/** Waits, or until the signal aborts, whichever comes first; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
