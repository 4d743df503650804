import type { RuleGroup } from "../alert.ts";

/**
 * An alert that always fires, for a receiver that pages the operator when it stops. Separate from the other alerts, because an Alertmanager
 * without a route for it would notify everyone.
 */
export const watchdogRules: RuleGroup = {
  name: "gatehouse-watchdog",
  recordings: [],
  alerts: [
    {
      name: "GatehouseWatchdog",
      expr: "vector(1)",
      for: "0m",
      severity: "none",
      summary: "Prometheus judges the rules and reaches the Alertmanager ({{ $value }}).",
      description:
        "This fires for as long as alerts arrive at all. Route it to what wakes somebody when it stops, and to nobody else.",
    },
  ],
};
