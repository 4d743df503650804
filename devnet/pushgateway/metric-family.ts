/** Types that Prometheus's text format 0.0.4 knows. */
export const metricTypes = ["counter", "gauge", "histogram", "summary", "untyped"] as const;

/** One of {@link metricTypes}. */
export type MetricType = (typeof metricTypes)[number];

/** Labels by name. */
export type Labels = ReadonlyMap<string, string>;

/** One line of values. Its name is the family's, or, in a histogram or summary, that with `_bucket`, `_sum` or `_count`. */
export type Sample = Readonly<{ name: string; labels: Labels; value: number; hasTimestamp: boolean }>;

/** A metric's name, type, help and samples. */
export type MetricFamily = Readonly<{
  name: string;
  type: MetricType;
  help: string | undefined;
  samples: readonly Sample[];
}>;

/** Families by name. */
export type MetricFamilies = ReadonlyMap<string, MetricFamily>;

/** Builds the same text for the same name and labels, whatever their order. */
export function buildSampleKey({ name, labels }: Pick<Sample, "name" | "labels">): string {
  return JSON.stringify([name, sortLabels(labels)]);
}

/** Sorts labels by name. */
export function sortLabels(labels: Labels): readonly (readonly [string, string])[] {
  return [...labels].sort(([a], [b]) => (a < b ? -1 : 1));
}
