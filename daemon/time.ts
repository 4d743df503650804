import { once } from "node:events";
import { systemClock, type Clock } from "./clock.ts";
import type { Logger } from "./log/log.ts";

/**
 * Waits for `ms` milliseconds, or until the signal aborts, whichever comes first. Never rejects, and cleans up its timer and listener.
 * Injected wherever a test would have to wait.
 */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** A pause by the system timer. Keeps the process alive until it is over. */
export const pause: Pause = (ms, signal) => wait(ms, signal, true);

/** A pause for background work: doesn't keep the process alive. */
export const pauseInBackground: Pause = (ms, signal) => wait(ms, signal, false);

async function wait(ms: number, signal: AbortSignal | undefined, ref: boolean): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  // The global timer, which tests can replace, unlike that of node:timers/promises.
  const timer = setTimeout(end, ms);
  if (!ref) timer.unref();
  signal?.addEventListener("abort", end, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", end);
}

/** Task that repeats. Disposal ends its wait, and resolves when the run in progress has ended. */
export type Repetition = AsyncDisposable &
  Readonly<{
    /** Ends the current wait. During a run, the next run follows at once. */
    wake: () => void;
    /** Resolves when the repetition was stopped and the run in progress has ended. */
    ended: Promise<void>;
  }>;

export type RepetitionOptions = Readonly<{
  /** Time from the end of one run to the start of the next; a function is called after each run. `Infinity` waits until the task is woken. */
  intervalMs: number | (() => number);
  /** Receives an error of the task, which is still repeated afterwards. */
  failed: (error: unknown) => void;
  /** Whether the first run comes after a wait. */
  waitsFirst?: boolean;
  /** Signal that stops the repetition, as its disposal does. */
  signal?: AbortSignal;
}>;

/** Runs a task at once, and again after each wait, so that runs never overlap. Its signal aborts when the repetition is stopped. */
export function repeat(
  task: (signal: AbortSignal) => Promise<void>,
  { intervalMs, failed, waitsFirst = false, signal: stopSignal }: RepetitionOptions,
  { pause: waitFor = pause }: Readonly<{ pause?: Pause | undefined }> = {},
): Repetition {
  const stopController = new AbortController();
  const { signal } = stopController;
  let isAwake = false;
  let waitController: AbortController | undefined;
  const waitForNext = async (): Promise<void> => {
    const ms = typeof intervalMs === "number" ? intervalMs : intervalMs();
    if (!isAwake) {
      waitController = new AbortController();
      await (ms === Infinity ? once(waitController.signal, "abort") : waitFor(ms, waitController.signal));
      waitController = undefined;
    }
    isAwake = false;
  };
  const wake = () => {
    isAwake = true;
    waitController?.abort();
  };
  const stop = () => {
    stopController.abort(stopSignal?.reason);
    wake();
  };
  const run = async (): Promise<void> => {
    if (waitsFirst) await waitForNext();
    while (!signal.aborted) {
      try {
        await task(signal);
      } catch (error) {
        failed(error);
      }
      if (!signal.aborted) await waitForNext();
    }
    stopSignal?.removeEventListener("abort", stop);
  };
  if (stopSignal?.aborted === true) stop();
  else stopSignal?.addEventListener("abort", stop, { once: true });
  const ended = run();
  return {
    wake,
    ended,
    [Symbol.asyncDispose]: async () => {
      stop();
      await ended;
    },
  };
}

/** A task to repeat, with its name in the log. `failed` is called after an error is logged: the task's previous result may no longer be valid. */
export type PollOptions = Omit<RepetitionOptions, "waitsFirst"> & Readonly<{ name: string }>;

export type PollDependencies = Readonly<{ log: Pick<Logger, "error">; pause?: Pause }>;

/** Repeats a task like {@link repeat}, and logs its errors, except those after the repetition was stopped. */
export function poll(
  { name, failed, ...options }: PollOptions,
  task: (signal: AbortSignal) => Promise<void>,
  { log, pause: waitFor }: PollDependencies,
): Repetition {
  const runLogged = async (signal: AbortSignal): Promise<void> => {
    try {
      await task(signal);
    } catch (error) {
      if (signal.aborted) return;
      log.error({ event: "task-failed", err: error, task: name }, "periodic task failed");
      failed(error);
    }
  };
  return repeat(runLogged, { ...options, failed }, { pause: waitFor });
}

/** Interval between the checks of {@link waitUntil}, and when it gives up: after a time limit, on a signal, or on whichever comes first. */
export type WaitOptions = Readonly<
  { everyMs: number } & ({ withinMs: number; signal?: AbortSignal } | { withinMs?: number; signal: AbortSignal })
>;

/**
 * Checks at once, and then `everyMs` after each check, until a check succeeds, `withinMs` elapses, or the signal aborts. Returns the last
 * check's result, successful or not; an error thrown by a check ends the wait.
 */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  isRight: (found: T) => boolean,
  { everyMs, withinMs = Infinity, signal }: WaitOptions,
  { monotonicMs, pause: waitFor = pause }: Pick<Clock, "monotonicMs"> & Readonly<{ pause?: Pause }> = systemClock,
): Promise<T> {
  const untilMs = monotonicMs() + withinMs;
  for (;;) {
    const found = await check();
    if (isRight(found) || monotonicMs() >= untilMs) return found;
    await waitFor(everyMs, signal);
    if (signal?.aborted === true) return found;
  }
}

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
 * @throws {DeadlineError} with `what` when the deadline expires; `work` itself continues unless it observes a signal.
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

/** Number of parts into which {@link createTimeoutSignal} and {@link pauseWhileRunning} divide a period. */
const runningParts = 10;

/**
 * Creates a timeout that counts only the time in which this process runs. While the process is stalled (stopped, without CPU, or with a
 * busy event loop), at most a tenth of the timeout elapses. A response that arrived during the stall is thus read before the timeout fires,
 * and its sender doesn't count as unresponsive. Aborts with a `TimeoutError`, as `AbortSignal.timeout` does, and doesn't keep the process
 * alive.
 */
export function createTimeoutSignal(ms: number): AbortSignal {
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

/** Waits for `ms` of time in which this process runs, or until the signal aborts, whichever comes first; never rejects. */
export async function pauseWhileRunning(ms: number, signal: AbortSignal): Promise<void> {
  for (let part = 0; part < runningParts && !signal.aborted; part += 1) await pause(ms / runningParts, signal);
}

export type BackoffOptions = Readonly<{ initialMs: number; maxMs: number }>;

/**
 * Computes the wait after a number of consecutive failures, in milliseconds: doubles after each. For a single client; many clients use
 * {@link createBackoff}.
 */
export function doubleWait(failures: number, { initialMs, maxMs }: BackoffOptions): number {
  return Math.min(initialMs * 2 ** (failures - 1), maxMs);
}

export type Backoff = Readonly<{
  /** Records a failure, and returns the wait in milliseconds. */
  nextMs: () => number;
  /** Records a success: the next failure counts as the first. */
  reset: () => void;
}>;

/**
 * Creates a backoff that doubles the wait with each failure, and randomly subtracts up to half of it, so that many clients that lost the
 * same peer don't reconnect simultaneously (exponential backoff with jitter). `random` returns numbers from 0 up to 1.
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
