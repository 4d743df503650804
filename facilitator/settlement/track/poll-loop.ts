import type { Logger } from "#daemon/log/log.ts";
import { createBackoff, createWakeablePause, type Pause } from "#daemon/time.ts";

export type PollOptions = Readonly<{ intervalMs: number }>;

export type PollDependencies = Readonly<{
  /** Returns whether there is anything to check. */
  hasWork: () => boolean;
  poll: () => Promise<void>;
  log: Logger;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
}>;

/** Shared polling loop for everything awaited; it is idle while there is nothing. Disposal stops it after the current check. */
export type PollLoop = AsyncDisposable &
  Readonly<{
    /** Checks immediately instead of at the next interval, or starts checking. */
    wake: () => void;
  }>;

/** Max interval; it doubles up to this while checks fail. */
const failedIntervalMaxMs = 2_000;

/** Creates a loop that is idle until woken. */
export function createPollLoop(
  { intervalMs }: PollOptions,
  { hasWork, poll, log, pause: waitFor, random }: PollDependencies,
): PollLoop {
  const pause = createWakeablePause(waitFor);
  const backoff = createBackoff({ initialMs: 2 * intervalMs, maxMs: failedIntervalMaxMs }, { random });
  let isRunning = false;
  let running = Promise.resolve();
  const stop = new AbortController();

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!stop.signal.aborted && hasWork()) {
      try {
        await poll();
        if (failures > 0)
          log.info({ event: "settlements-tracked-again", failures }, "pending settlements are tracked again");
        failures = 0;
        backoff.reset();
      } catch (error) {
        failures += 1;
        if (failures === 1)
          log.warn({ event: "settlements-not-tracked", err: error }, "can't track pending settlements; retrying");
      }
      await pause.wait(failures === 0 ? intervalMs : backoff.nextMs());
    }
    isRunning = false;
  };

  return {
    wake: () => {
      if (stop.signal.aborted) return;
      if (isRunning) {
        pause.wake();
        return;
      }
      // Set before the loop starts, because with nothing to do it ends before `run` returns.
      isRunning = true;
      running = run();
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      pause.wake();
      await running;
    },
  };
}
