import { createSlidingWindow } from "#daemon/sliding-window.ts";

/** A limit on the calls within a sliding window. */
export type CallLimit = Readonly<{
  /** Counts a call and returns 0, or returns the seconds until the next call is allowed. */
  acquire: () => number;
}>;

/** Creates a sliding-window call limit. `monotonicMs` is a clock that wall-clock changes don't affect. */
export function createCallLimit(
  { most, withinMs }: Readonly<{ most: number; withinMs: number }>,
  monotonicMs: () => number,
): CallLimit {
  const calls = createSlidingWindow(withinMs, monotonicMs);
  return {
    acquire: () => {
      const [oldestMs] = calls.times();
      if (oldestMs !== undefined && calls.times().length >= most)
        return Math.ceil((oldestMs + withinMs - monotonicMs()) / 1_000);
      calls.add();
      return 0;
    },
  };
}

/** Max exec ids to remember; a caller that has created more no longer needs the oldest. */
const execsMax = 256;

/** Execs created through this proxy: only these may be started or inspected through it. */
export type ExecRegistry = Readonly<{ add(id: string): void; has(id: string): boolean }>;

/** Creates an empty, bounded store of exec ids. */
export function createExecRegistry(): ExecRegistry {
  const ids = new Set<string>();
  return {
    add(id) {
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > execsMax && oldest !== undefined) ids.delete(oldest);
    },
    has: (id) => ids.has(id),
  };
}
