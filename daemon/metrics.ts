import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { version } from "./version.ts";

/**
 * Makes a service's metrics registry, with the process's own metrics and `gatehouse_build_info`. Units stand in the metrics'
 * names (`_seconds`, `_bytes`, `_total`).
 */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "gatehouse_build_info",
    help: "Always 1; the labels tell which service and version runs, and on which Node.",
    labelNames: ["service", "version", "node"],
    registers: [registry],
  }).set({ service, version, node: process.version }, 1);
  return registry;
}
