/** One value at a time (wall clock). */
type SeriesPoint = Readonly<{ atMs: number; value: number }>;

/** The last values of something, for a small chart. */
export type Series = Readonly<{ add: (point: SeriesPoint) => void; list: () => readonly SeriesPoint[] }>;

/** How many values a chart has, and how far apart they are. */
export type SeriesOptions = Readonly<{ pointsKept: number; intervalMs: number }>;

/** Makes an empty series; values that come sooner than the interval replace the last one's value. */
export function createSeries({ pointsKept, intervalMs }: SeriesOptions): Series {
  let points: readonly SeriesPoint[] = [];
  return {
    add: (point) => {
      const before = points.at(-2);
      const isSoon = before !== undefined && point.atMs - before.atMs < intervalMs;
      points = [...(isSoon ? points.slice(0, -1) : points), point].slice(-pointsKept);
    },
    list: () => points,
  };
}
