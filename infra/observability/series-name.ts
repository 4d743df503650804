import type { metricCatalogue } from "./metric-catalogue.ts";

type Catalogue = typeof metricCatalogue;

/** Name under which a metric is registered. */
type MetricName = keyof Catalogue;

type HistogramName = { [N in MetricName]: Catalogue[N]["type"] extends "histogram" ? N : never }[MetricName];

/** Name that can be used in a query: a counter, a gauge, or one of a histogram's series. */
export type SeriesName = Exclude<MetricName, HistogramName> | `${HistogramName}_${"bucket" | "sum" | "count"}`;

/** Labels that a service sets on a series. */
export type LabelOf<N extends SeriesName> = N extends MetricName
  ? Catalogue[N]["labels"][number]
  : N extends `${infer H extends HistogramName}_bucket`
    ? Catalogue[H]["labels"][number] | "le"
    : N extends `${infer H extends HistogramName}_${"sum" | "count"}`
      ? Catalogue[H]["labels"][number]
      : never;
