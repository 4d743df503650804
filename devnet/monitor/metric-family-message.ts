import protobuf from "protobufjs/light.js";

/** A sample of a metric, in the field for its family's type. Field names and numbers are Prometheus's. */
export type MetricMessage = Readonly<{
  label: readonly Readonly<{ name: string; value: string }>[];
  gauge?: Readonly<{ value: number }>;
  counter?: Readonly<{ value: number }>;
  summary?: Readonly<{
    sampleCount: number;
    sampleSum: number;
    quantile: readonly Readonly<{ quantile: number; value: number }>[];
  }>;
  histogram?: Readonly<{
    sampleCount: number;
    sampleSum: number;
    bucket: readonly Readonly<{ cumulativeCount: number; upperBound: number }>[];
  }>;
}>;

/** All samples of one metric. */
export type MetricFamilyMessage = Readonly<{
  name: string;
  help: string;
  type: "COUNTER" | "GAUGE" | "SUMMARY" | "HISTOGRAM";
  metric: readonly MetricMessage[];
}>;

const field = (id: number, type: string) => ({ id, type });
const repeated = (id: number, type: string) => ({ id, type, rule: "repeated" });
const message = (fields: Readonly<Record<string, protobuf.IField>>) => ({ fields });

/** The messages of `io.prometheus.client` (Prometheus's client_model, `metrics.proto`), limited to the fields that a prom-client registry fills. */
const root = protobuf.Root.fromJSON({
  nested: {
    MetricType: { values: { COUNTER: 0, GAUGE: 1, SUMMARY: 2, UNTYPED: 3, HISTOGRAM: 4 } },
    LabelPair: message({ name: field(1, "string"), value: field(2, "string") }),
    Gauge: message({ value: field(1, "double") }),
    Counter: message({ value: field(1, "double") }),
    Quantile: message({ quantile: field(1, "double"), value: field(2, "double") }),
    Summary: message({
      sampleCount: field(1, "uint64"),
      sampleSum: field(2, "double"),
      quantile: repeated(3, "Quantile"),
    }),
    Bucket: message({ cumulativeCount: field(1, "uint64"), upperBound: field(2, "double") }),
    Histogram: message({
      sampleCount: field(1, "uint64"),
      sampleSum: field(2, "double"),
      bucket: repeated(3, "Bucket"),
    }),
    Metric: message({
      label: repeated(1, "LabelPair"),
      gauge: field(2, "Gauge"),
      counter: field(3, "Counter"),
      summary: field(4, "Summary"),
      histogram: field(7, "Histogram"),
    }),
    MetricFamily: message({
      name: field(1, "string"),
      help: field(2, "string"),
      type: field(3, "MetricType"),
      metric: repeated(4, "Metric"),
    }),
  },
});
const familyType = root.lookupType("MetricFamily");

/** Encodes one family with a length prefix. */
export function encodeDelimited(family: MetricFamilyMessage): Uint8Array {
  return familyType.encodeDelimited(familyType.fromObject(family)).finish();
}
