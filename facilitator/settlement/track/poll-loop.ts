import type { Logger } from "#daemon/log/log.ts";
import { createBackoff, createWakeablePause, type Pause } from "#daemon/time.ts";

export type PollOptions = Readonly<{ intervalMs: number }>;

export type PollDependencies = Readonly<{
  /** Whether there is anything to look for. */
  hasWork: () => boolean;
  look: () => Promise<void>;
  log: Logger;
  pause: Pause;
  /** From 0 up to 1. */
  random: () => number;
}>;

/** One loop for everything that is waited for; it rests while there is nothing. Disposing of it ends it after the look under way. */
export type PollLoop = AsyncDisposable &
  Readonly<{
    /** Looks at once instead of at the next interval, or starts to look. */
    wake: () => void;
  }>;

/** While looks fail, the interval doubles up to this. */
const failedIntervalMaxMs = 2_000;

/** Creates a loop that rests until it is woken. */
export function createPollLoop(
  { intervalMs }: PollOptions,
  { hasWork, look, log, pause: waitFor, random }: PollDependencies,
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
        await look();
        if (failures > 0)
          log.info({ event: "settlements-followed-again", failures }, "pending settlements are followed again");
        failures = 0;
        backoff.reset();
      } catch (error) {
        failures += 1;
        if (failures === 1)
          log.warn({ event: "settlements-not-followed", err: error }, "can't follow pending settlements; trying again");
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
      // Set before the loop begins: with nothing to do it ends before `run` returns.
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
