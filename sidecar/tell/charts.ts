import { createSeries, type Series } from "./series.ts";

/** What the page draws. */
export type Charts = Readonly<{ heights: Series; pruned: Series }>;

/** Ten minutes of heights and a day of pruning. */
export function createCharts(): Charts {
  return {
    heights: createSeries({ pointsKept: 120, intervalMs: 5_000 }),
    pruned: createSeries({ pointsKept: 120, intervalMs: 720_000 }),
  };
}
