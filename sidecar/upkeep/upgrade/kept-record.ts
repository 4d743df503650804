import type { Clock } from "#daemon/clock.ts";
import { pause } from "#daemon/time.ts";
import type { StateStore } from "../state/state-store.ts";

export type KeptRecordDependencies = Readonly<{
  store: Pick<StateStore, "isWritable" | "failure">;
  /** Is told why the next step does not begin, and that it does again. */
  blocked: (why: string | undefined) => void;
  clock: Pick<Clock, "monotonicMs">;
  signal: AbortSignal;
}>;

/** How long, and how often, a write is tried again before the upgrade stands still until the state can be kept. */
const keptWithinMs = 30_000;
const tryAgainMs = 500;

/**
 * Waits until what was remembered of an upgrade is on the disk; false when that does not come about in time. A step that nobody remembers
 * would be taken for another one after a kill: what was proved would be taken back, or data put back that are those of before already.
 */
export async function isRecordKept({ store, blocked, clock, signal }: KeptRecordDependencies): Promise<boolean> {
  const untilMs = clock.monotonicMs() + keptWithinMs;
  while (store.failure() !== undefined && !store.isWritable()) {
    blocked(whyNotKept(store));
    if (signal.aborted || clock.monotonicMs() >= untilMs) return false;
    await pause(tryAgainMs, signal);
  }
  blocked(undefined);
  return true;
}

/** Why an upgrade can't go on while its state can't be kept; undefined where it can. */
export function whyNotKept({ failure }: Pick<StateStore, "failure">): string | undefined {
  const failed = failure();
  return failed && `It can't go on, because how far it is can't be kept: ${failed.message} It goes on by itself then.`;
}
