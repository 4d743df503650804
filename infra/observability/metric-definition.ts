/** A metric as a service registers it: its Prometheus type, help text, and the labels that the service sets. */
export type MetricDefinition = Readonly<{
  type: "counter" | "gauge" | "histogram";
  help: string;
  labels: readonly string[];
}>;

export const counter = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "counter", help, labels }) as const;

export const gauge = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "gauge", help, labels }) as const;

export const histogram = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: "histogram", help, labels }) as const;
