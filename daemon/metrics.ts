import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { version } from "./version.ts";

/** Time between two looks at the event loop's delay. The library's own, 10 ms, wakes an idle process a hundred times a second. */
const loopTickMs = 100;

/**
 * Makes a service's metrics registry, with the process's own metrics and `gatehouse_build_info`. Units stand in the metrics'
 * names (`_seconds`, `_bytes`, `_total`).
 */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopTickMs });
  new Gauge({
    name: "gatehouse_build_info",
    help: "Always 1; the labels tell which service and version runs, and on which Node.",
    labelNames: ["service", "version", "node"],
    registers: [registry],
  }).set({ service, version, node: process.version }, 1);
  return registry;
}
