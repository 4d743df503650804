import { createSeries, type Series } from "./series.ts";

/** What the page draws: the chain's height, and how far pruning may go and has gone (versions). */
export type Charts = Readonly<{ heights: Series; prunable: Series; pruned: Series }>;

const pointsKept = 120;
const tenMinutesMs = 600_000;
const dayMs = 86_400_000;

/** Ten minutes of heights and a day of pruning. */
export function createCharts(): Charts {
  return {
    heights: createSeries({ pointsKept, spanMs: tenMinutesMs }),
    prunable: createSeries({ pointsKept, spanMs: dayMs }),
    pruned: createSeries({ pointsKept, spanMs: dayMs }),
  };
}
