import { Gauge, type Registry } from "prom-client";

/** Series for the page's charts: the chain's height, the version up to which pruning may advance, and the version that it has reached. */
export type Charts = Readonly<{ heights: Series; prunable: Series; pruned: Series }>;

const pointsInChart = 120;
const tenMinutesMs = 600_000;
const dayMs = 86_400_000;

export function createCharts(): Charts {
  return {
    heights: createSeries({ pointsKept: pointsInChart, spanMs: tenMinutesMs }),
    prunable: createSeries({ pointsKept: pointsInChart, spanMs: dayMs }),
    pruned: createSeries({ pointsKept: pointsInChart, spanMs: dayMs }),
  };
}

/** A value and its time (wall clock). */
export type SeriesPoint = Readonly<{ atMs: number; value: number }>;

/** The latest values of a quantity, for a small chart. */
export type Series = Readonly<{ add: (point: SeriesPoint) => void; list: () => readonly SeriesPoint[] }>;

/**
 * Creates an empty series. Values are never moved: when there are too many, it drops the one that changes the drawn line least (Visvalingam
 * and Whyatt's line simplification), so that a constant value stays a flat line. When the clock is set back, it drops values whose
 * timestamps are now in the future, because a chart's time never runs backwards.
 */
export function createSeries({ pointsKept, spanMs }: Readonly<{ pointsKept: number; spanMs: number }>): Series {
  let points: readonly SeriesPoint[] = [];
  return {
    add: (point) => {
      const past = points.filter(({ atMs }) => atMs <= point.atMs && point.atMs - atMs <= spanMs);
      const all = [...past, point];
      points = all.length > pointsKept ? all.toSpliced(findLeastInformative(all), 1) : all;
    },
    list: () => points,
  };
}

/** Finds the index of the point, excluding the first and last, that is nearest to the line through its neighbours, measured by the area between them. */
function findLeastInformative(points: readonly SeriesPoint[]): number {
  const areas = points.slice(1, -1).map((point, index) => computeArea(points[index], point, points[index + 2]));
  return areas.indexOf(Math.min(...areas)) + 1;
}

function computeArea(before: SeriesPoint | undefined, point: SeriesPoint, after: SeriesPoint | undefined): number {
  if (before === undefined || after === undefined) return 0;
  const [x, y] = [point.atMs - before.atMs, point.value - before.value];
  const [toX, toY] = [after.atMs - before.atMs, after.value - before.value];
  return Math.abs(x * toY - toX * y);
}

/** A measured value. Without a sample, the gauge has no series: a 0 that was never measured would trigger alerts, or hide their cause. */
export type SampleGauge = Readonly<{
  /** Sets the value; undefined removes the series until the next sample. */
  set: (value: number | undefined) => void;
}>;

/** Creates a gauge without labels that is absent until its first sample; prom-client's own starts at 0. */
export function createSampleGauge(options: Readonly<{ name: string; help: string; registry: Registry }>): SampleGauge {
  const gauge = new Gauge({ name: options.name, help: options.help, registers: [options.registry] });
  gauge.remove();
  return {
    set: (value) => {
      if (value === undefined) gauge.remove();
      else gauge.set(value);
    },
  };
}
