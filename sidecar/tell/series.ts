/** One value at a time (wall clock). */
type SeriesPoint = Readonly<{ atMs: number; value: number }>;

/** The last values of something, for a small chart. */
export type Series = Readonly<{ add: (point: SeriesPoint) => void; list: () => readonly SeriesPoint[] }>;

/** How many values a chart has, and how far apart they are. */
export type SeriesOptions = Readonly<{ pointsKept: number; intervalMs: number }>;

/**
 * Makes an empty series; values that come sooner than the interval replace the last one's value. When the clock was put back, the values
 * of times that are still to come are forgotten: a chart's time never runs backwards.
 */
export function createSeries({ pointsKept, intervalMs }: SeriesOptions): Series {
  let points: readonly SeriesPoint[] = [];
  return {
    add: (point) => {
      const past = points.filter(({ atMs }) => atMs <= point.atMs);
      const before = past.at(-2);
      const isSoon = before !== undefined && point.atMs - before.atMs < intervalMs;
      points = [...(isSoon ? past.slice(0, -1) : past), point].slice(-pointsKept);
    },
    list: () => points,
  };
}
