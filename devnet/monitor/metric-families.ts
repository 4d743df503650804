import { z } from "zod";
import type { MetricFamilyMessage, MetricMessage } from "./metric-family-message.ts";

const sample = z.object({
  value: z.number(),
  labels: z.record(z.string(), z.coerce.string()),
  metricName: z.string().optional(),
});
type Sample = z.output<typeof sample>;

/** Result of prom-client's `getMetricsAsJSON`; prom-client's own types lack the name of a metric's type and `metricName`. */
const family = z.object({
  name: z.string(),
  help: z.string(),
  type: z.enum(["counter", "gauge", "histogram", "summary"]),
  values: z.array(sample),
});

/** Converts a registry's metrics to Prometheus messages. */
export function collectMetricFamilies(registry: unknown): readonly MetricFamilyMessage[] {
  return z.array(family).parse(registry).map(toMessage);
}

function toMessage({ name, help, type, values }: z.output<typeof family>): MetricFamilyMessage {
  const buildFamily = <T extends Uppercase<typeof type>>(kind: T, metric: readonly MetricMessage[]) =>
    ({ name, help, type: kind, metric }) as const;
  switch (type) {
    case "counter":
      return buildFamily(
        "COUNTER",
        values.map(({ value, labels }) => ({ label: buildLabelPairs(labels), counter: { value } })),
      );
    case "gauge":
      return buildFamily(
        "GAUGE",
        values.map(({ value, labels }) => ({ label: buildLabelPairs(labels), gauge: { value } })),
      );
    case "histogram":
      return buildFamily(
        "HISTOGRAM",
        collectSeries(values, "le").map(({ label, parts, ...totals }) => ({
          label,
          histogram: {
            ...totals,
            bucket: parts.map(({ bound, value }) => ({ upperBound: bound, cumulativeCount: value })),
          },
        })),
      );
    case "summary":
      return buildFamily(
        "SUMMARY",
        collectSeries(values, "quantile").map(({ label, parts, ...totals }) => ({
          label,
          summary: { ...totals, quantile: parts.map(({ bound, value }) => ({ quantile: bound, value })) },
        })),
      );
  }
}

type LabelPairs = MetricMessage["label"];

function buildLabelPairs(labels: Sample["labels"]): LabelPairs {
  return Object.entries(labels).map(([name, value]) => ({ name, value }));
}

/** A histogram's or a summary's samples for one label set: sum, count, and a value per bound. */
type Series = Readonly<{
  label: LabelPairs;
  sampleSum: number;
  sampleCount: number;
  parts: readonly Readonly<{ bound: number; value: number }>[];
}>;

/** Groups prom-client's separate samples by label set; `boundLabel` is the label that contains the bound. */
function collectSeries(samples: readonly Sample[], boundLabel: "le" | "quantile"): readonly Series[] {
  const pickLabel = ({ labels }: Sample) => buildLabelPairs(labels).filter(({ name }) => name !== boundLabel);
  const bySeries = Map.groupBy(samples, (each) => JSON.stringify(pickLabel(each)));
  return [...bySeries.values()].map((series) => {
    const total = (suffix: string) => series.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0;
    const parts = series.flatMap(({ labels: { [boundLabel]: bound }, value }) =>
      bound === undefined ? [] : [{ bound: bound === "+Inf" ? Infinity : Number(bound), value }],
    );
    const label = series.slice(0, 1).flatMap(pickLabel);
    return { label, sampleSum: total("_sum"), sampleCount: total("_count"), parts };
  });
}
