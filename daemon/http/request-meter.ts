import { Histogram, type Registry } from "prom-client";

const name = "gatehouse_http_request_duration_seconds";

type RequestLabel = "method" | "route" | "status";

/** Measures requests; the returned function ends a measurement. */
export type RequestMeter = Readonly<{ start: () => (labels: Readonly<Record<RequestLabel, string | number>>) => void }>;

/** Creates the meter of a process's requests; all of its listeners share one metric. */
export function createRequestMeter(metrics: Registry): RequestMeter {
  const duration =
    (metrics.getSingleMetric(name) as Histogram<RequestLabel> | undefined) ??
    new Histogram({
      name,
      help: "Time from a request's arrival to its response headers, by method, route and status.",
      labelNames: ["method", "route", "status"],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers: [metrics],
    });
  return { start: () => duration.startTimer() };
}
