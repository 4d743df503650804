import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics of the passes. */
export type PassMetrics = Readonly<{ made: (wallMs: number) => void; failed: () => void }>;

/**
 * Creates `gatehouse_upkeep_passes_total`, `…_pass_failures_total` and `…_last_success_timestamp_seconds`. The last begins with 0, as
 * Prometheus's own practices have it for batch jobs: an upkeep that never made a pass is to set off the same alert.
 */
export function createPassMetrics(registry: Registry): PassMetrics {
  const registers = [registry];
  const passes = new Counter({
    name: "gatehouse_upkeep_passes_total",
    help: "Passes of the upkeep that came to their end.",
    registers,
  });
  const failures = new Counter({
    name: "gatehouse_upkeep_pass_failures_total",
    help: "Passes of the upkeep that failed or took longer than upkeep.passDeadlineMs.",
    registers,
  });
  const lastSuccess = new Gauge({
    name: "gatehouse_upkeep_last_success_timestamp_seconds",
    help: "When the upkeep last made a whole pass (seconds since 1970); 0 before the first.",
    registers,
  });
  return {
    made: (wallMs) => {
      passes.inc();
      lastSuccess.set(wallMs / 1_000);
    },
    failed: () => failures.inc(),
  };
}
