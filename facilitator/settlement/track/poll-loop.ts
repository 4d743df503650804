import type { Logger } from "#daemon/log/log.ts";
import { createBackoff, repeat, type Pause, type Repetition } from "#daemon/time.ts";

export type PollDependencies = Readonly<{
  /** Returns whether there is anything to check. */
  hasWork: () => boolean;
  poll: () => Promise<void>;
  log: Logger;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
}>;

/** Max interval; it doubles up to this while checks fail. */
const failedIntervalMaxMs = 2_000;

/** Creates a shared polling loop for everything awaited; it is idle while there is nothing, until it is woken. */
export function createPollLoop(
  { intervalMs }: Readonly<{ intervalMs: number }>,
  { hasWork, poll, log, pause, random }: PollDependencies,
): Repetition {
  const backoff = createBackoff({ initialMs: 2 * intervalMs, maxMs: failedIntervalMaxMs }, { random });
  let failures = 0;
  const check = async (): Promise<void> => {
    if (!hasWork()) return;
    await poll();
    if (failures > 0)
      log.info({ event: "settlements-tracked-again", failures }, "pending settlements are tracked again");
    failures = 0;
    backoff.reset();
  };
  const failed = (error: unknown): void => {
    failures += 1;
    if (failures === 1)
      log.warn({ event: "settlements-not-tracked", err: error }, "can't track pending settlements; retrying");
  };
  const waitMs = () => (failures === 0 ? intervalMs : backoff.nextMs());
  return repeat(check, { intervalMs: () => (hasWork() ? waitMs() : Infinity), failed }, { pause });
}
