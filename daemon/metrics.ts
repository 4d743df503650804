import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { version } from "./version.ts";

/** Interval between samples of the event loop's delay. The library's default, 10 ms, wakes an idle process a hundred times a second. */
const loopTickMs = 100;

/** The library's gauges with counter names; each is the sum of the metric of the same name without `_total`. */
const misnamedMetrics = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * Creates a service's metrics registry, with the process's own metrics, `gatehouse_build_info` and `gatehouse_time_seconds`. Metric names
 * include units (`_seconds`, `_bytes`, `_total`).
 */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopTickMs });
  for (const name of misnamedMetrics) registry.removeSingleMetric(name);
  new Gauge({
    name: "gatehouse_build_info",
    help: "Always 1; the labels are the service, its version and the Node.js version.",
    labelNames: ["service", "version", "node"],
    registers: [registry],
  }).set({ service, version, node: process.version }, 1);
  const clock: Gauge = new Gauge({
    name: "gatehouse_time_seconds",
    help: "Wall clock at scrape time, in seconds since 1970; compare it with Prometheus's clock to detect clock drift.",
    registers: [registry],
    collect: () => clock.set(Date.now() / 1_000),
  });
  return registry;
}
