import type { metricCatalogue } from "./metric-catalogue.ts";

type Catalogue = typeof metricCatalogue;

/** A metric as it is registered. */
type MetricName = keyof Catalogue;

type HistogramName = { [N in MetricName]: Catalogue[N]["type"] extends "histogram" ? N : never }[MetricName];

/** Name that a query may use: a counter, a gauge, or one of the series of a histogram. */
export type SeriesName = Exclude<MetricName, HistogramName> | `${HistogramName}_${"bucket" | "sum" | "count"}`;

/** Labels that a series has from its service. */
export type LabelOf<N extends SeriesName> = N extends MetricName
  ? Catalogue[N]["labels"][number]
  : N extends `${infer H extends HistogramName}_bucket`
    ? Catalogue[H]["labels"][number] | "le"
    : N extends `${infer H extends HistogramName}_${"sum" | "count"}`
      ? Catalogue[H]["labels"][number]
      : never;
