import { systemClock, type Clock } from "./clock.ts";
import type { Logger } from "./log/log.ts";

/**
 * Waits for `ms` milliseconds, or until the signal aborts, whichever comes first. Never rejects, and leaves neither timer nor
 * listener behind. A dependency wherever a test would have to wait.
 */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** The pause of the machine's timer. The process stays alive until it is over. */
export const pause: Pause = (ms, signal) => wait(ms, signal, true);

/** The pause of work in the background: a process that has nothing else to do ends during it. */
export const pauseInBackground: Pause = (ms, signal) => wait(ms, signal, false);

async function wait(ms: number, signal: AbortSignal | undefined, ref: boolean): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  // The global timer, which tests can replace; that of node:timers/promises can't be.
  const timer = setTimeout(end, ms);
  if (!ref) timer.unref();
  signal?.addEventListener("abort", end, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", end);
}

/** A pause of one loop that can be cut short. */
export type WakeablePause = Readonly<{
  /** Waits; returns at once when `wake` was called since the last wait. */
  wait: (ms: number) => Promise<void>;
  /** Ends the wait in progress, or else the next one before it begins. */
  wake: () => void;
}>;

/** Creates a pause for one loop. */
export function createWakeablePause(waitFor: Pause = pause): WakeablePause {
  let isAwake = false;
  let current: AbortController | undefined;
  return {
    wait: async (ms) => {
      if (!isAwake) {
        current = new AbortController();
        await waitFor(ms, current.signal);
        current = undefined;
      }
      isAwake = false;
    },
    wake: () => {
      isAwake = true;
      current?.abort();
    },
  };
}

/** A task to repeat. */
export type PollOptions = Readonly<{
  name: string;
  /** Called with an error of the task, after it is logged: whatever the task said before is not known to be so any more. */
  failed: (error: unknown) => void;
  /** From the end of one run to the start of the next; a function is called after each run. */
  intervalMs: number | (() => number);
  /** Ends the polling and is handed to the task. */
  signal: AbortSignal;
}>;

/**
 * Runs a task at once and then `intervalMs` after each end of it, so that it never overlaps itself. An error of the task is logged, handed to `failed`
 * and does not end the polling. Resolves when the signal has aborted and the run in progress has ended.
 */
export async function poll(
  { name, failed, intervalMs, signal }: PollOptions,
  task: (signal: AbortSignal) => Promise<void>,
  { log, pause: waitFor = pause }: Readonly<{ log: Pick<Logger, "error">; pause?: Pause }>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task(signal);
    } catch (error) {
      if (!signal.aborted) {
        log.error({ event: "task-failed", err: error, task: name }, "periodic task failed");
        failed(error);
      }
    }
    await waitFor(typeof intervalMs === "number" ? intervalMs : intervalMs(), signal);
  }
}

/** Interval between the looks of {@link waitUntil}, and when it gives up: after a time, by a signal, or whichever comes first. */
export type WaitOptions = Readonly<
  { everyMs: number } & ({ withinMs: number; signal?: AbortSignal } | { withinMs?: number; signal: AbortSignal })
>;

/**
 * Looks at once, and then `everyMs` after each look, until one finds what is waited for, `withinMs` is over, or the signal aborts. Returns what
 * the last look found, right or not; an error of a look ends the wait.
 */
export async function waitUntil<T>(
  look: () => T | Promise<T>,
  isRight: (found: T) => boolean,
  { everyMs, withinMs = Infinity, signal }: WaitOptions,
  { monotonicMs }: Pick<Clock, "monotonicMs"> = systemClock,
): Promise<T> {
  const untilMs = monotonicMs() + withinMs;
  for (;;) {
    const found = await look();
    if (isRight(found) || monotonicMs() >= untilMs) return found;
    await pause(everyMs, signal);
    if (signal?.aborted === true) return found;
  }
}

/** A wait that took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly code = "deadline_exceeded";

  constructor(what: string, deadlineMs: number) {
    super(`${what} took longer than ${deadlineMs} ms`);
  }
}

/**
 * Waits for `work`, but no longer than `deadlineMs`.
 *
 * @throws {DeadlineError} naming `what` when the time is over; `work` itself goes on unless it watches a signal.
 */
export async function within<T>(what: string, deadlineMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, deadlineMs)), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Parts that {@link createRunningTimeout} and {@link pauseWhileRunning} count a time in. */
const runningParts = 10;

/**
 * Creates a time limit that counts the time in which this process ran. While the process stands still (it was stopped,
 * got no CPU, or its event loop was busy) no more than a tenth of the limit goes by, so that an answer that arrived
 * meanwhile is read before the time is over: whoever sent it does not count as silent. Aborts with a `TimeoutError`, as
 * `AbortSignal.timeout` does, and keeps no process alive.
 */
export function createRunningTimeout(ms: number): AbortSignal {
  const over = new AbortController();
  let left = runningParts;
  const waitForPart = () => {
    setTimeout(() => {
      left -= 1;
      if (left > 0) waitForPart();
      else over.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    }, ms / runningParts).unref();
  };
  waitForPart();
  return over.signal;
}

/** Waits for as much of the time in which this process ran, or until the signal aborts, whichever comes first; never rejects. */
export async function pauseWhileRunning(ms: number, signal: AbortSignal): Promise<void> {
  for (let part = 0; part < runningParts && !signal.aborted; part += 1) await pause(ms / runningParts, signal);
}

/** First and longest wait between attempts. */
export type BackoffOptions = Readonly<{ initialMs: number; maxMs: number }>;

/**
 * Computes the wait after so many failures in a row, in milliseconds: twice as long after each. For whoever tries
 * alone; many use {@link createBackoff}.
 */
export function doubleWait(failures: number, { initialMs, maxMs }: BackoffOptions): number {
  return Math.min(initialMs * 2 ** (failures - 1), maxMs);
}

/** Waits between attempts that fail one after another. */
export type Backoff = Readonly<{
  /** The wait after one more failure, in milliseconds. */
  nextMs: () => number;
  /** An attempt has succeeded: the next failure is a first one. */
  reset: () => void;
}>;

/**
 * Doubles the wait with each failure, and takes up to half of it away by chance, so that many who lost the same peer do not come
 * back to it at the same moments (exponential backoff with jitter). `random` gives numbers from 0 up to 1.
 */
export function createBackoff(
  options: BackoffOptions,
  { random = Math.random }: Readonly<{ random?: () => number }> = {},
): Backoff {
  let failures = 0;
  return {
    nextMs: () => {
      failures += 1;
      return doubleWait(failures, options) * (1 - random() / 2);
    },
    reset: () => {
      failures = 0;
    },
  };
}
