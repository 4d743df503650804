/** Restarts of the container within the last hour. */
export type RestartLimit = Readonly<{
  /** Counts a restart and returns 0, or returns the seconds until the next one is allowed. */
  take: () => number;
}>;

const hourMs = 3_600_000;

/** Makes a sliding window of one hour. `monotonicMs` is a clock that no change of the time of day moves. */
export function restartLimit(perHour: number, monotonicMs: () => number): RestartLimit {
  let timesMs: readonly number[] = [];
  return {
    take: () => {
      const nowMs = monotonicMs();
      timesMs = timesMs.filter((atMs) => nowMs - atMs < hourMs);
      const [oldestMs] = timesMs;
      if (oldestMs !== undefined && timesMs.length >= perHour) return Math.ceil((oldestMs + hourMs - nowMs) / 1_000);
      timesMs = [...timesMs, nowMs];
      return 0;
    },
  };
}

/** Most execs that are remembered; a caller that made more has lost interest in the oldest. */
const execsMax = 256;

/** The execs that this proxy made: only they may be started or inspected through it. */
export type KnownExecs = Readonly<{ add(id: string): void; has(id: string): boolean }>;

/** Makes an empty, bounded memory of execs. */
export function knownExecs(): KnownExecs {
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
