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
