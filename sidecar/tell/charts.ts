import { createSeries, type Series } from "./series.ts";

/** What the page draws: the chain's height, and how far pruning may go and has gone (versions). */
export type Charts = Readonly<{ heights: Series; prunable: Series; pruned: Series }>;

/** A day of pruning, as fine as it is worth drawing. */
const pruningOptions = { pointsKept: 120, intervalMs: 720_000 } as const;

/** Ten minutes of heights and a day of pruning. */
export function createCharts(): Charts {
  return {
    heights: createSeries({ pointsKept: 120, intervalMs: 5_000 }),
    prunable: createSeries(pruningOptions),
    pruned: createSeries(pruningOptions),
  };
}
