/** One metric as a service registers it: its Prometheus type, its help, and the labels that the service gives it. */
export type MetricDefinition = Readonly<{
  type: "counter" | "gauge" | "histogram";
  help: string;
  labels: readonly string[];
}>;

/** Defines a counter. */
export const counter = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "counter", help, labels }) as const;

/** Defines a gauge. */
export const gauge = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "gauge", help, labels }) as const;

/** Defines a histogram. */
export const histogram = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "histogram", help, labels }) as const;
