/** A metric as a service registers it: its Prometheus type, help text, and the labels that the service sets. */
export type MetricDefinition = Readonly<{
  type: "counter" | "gauge" | "histogram";
  help: string;
  labels: readonly string[];
}>;

const define =
  (type: MetricDefinition["type"]) =>
  (help: string, ...labels: string[]): MetricDefinition => ({ type, help, labels });

export const counter = define("counter");
export const gauge = define("gauge");
export const histogram = define("histogram");
