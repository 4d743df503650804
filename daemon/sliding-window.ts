/** Times of events within a sliding window, oldest first; earlier ones are dropped. */
export type SlidingWindow = Readonly<{ times: () => readonly number[]; add: () => void }>;

/** Creates a window. `monotonicMs` is a clock unaffected by changes to the wall clock; `before` contains times to count from the start. */
export function createSlidingWindow(
  withinMs: number,
  monotonicMs: () => number,
  initialTimes: readonly number[] = [],
): SlidingWindow {
  let timesMs = initialTimes;
  const list = () => {
    const fromMs = monotonicMs() - withinMs;
    timesMs = timesMs.filter((atMs) => atMs > fromMs);
    return timesMs;
  };
  return { times: list, add: () => void (timesMs = [...list(), monotonicMs()]) };
}
