import { setTimeout as sleep } from "node:timers/promises";

/**
 * Deadline for conditions that are certain to become true: long, because a fully loaded machine takes ten times as long. Shorter than the
 * time limit of an integration test, so that the error reports what was being awaited.
 */
export const generousMs = 40_000;

/** Pauses between checks, four times as long as the last one took (10 to 100 ms), so that checks of a service's metrics don't keep two processes busy. */
const pauseAfter = (tookMs: number) => sleep(Math.min(Math.max(10, 4 * tookMs), 100));

/**
 * Waits until `condition` returns something other than undefined or false, and returns it.
 *
 * @throws {Error} with `what` after `deadlineMs`; its cause is the condition's last error, if the last check threw.
 */
export async function until<T>(
  what: string,
  deadlineMs: number,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    const beganMs = performance.now();
    try {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last });
    await pauseAfter(performance.now() - beganMs);
  }
}

export async function readUntil<T>(
  read: () => Promise<T> | T,
  isRight: (value: T) => boolean,
  withinMs = generousMs,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const beganMs = performance.now();
    const value = await read();
    if (isRight(value)) return value;
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(value)} after ${withinMs} ms`);
    await pauseAfter(performance.now() - beganMs);
  }
}
