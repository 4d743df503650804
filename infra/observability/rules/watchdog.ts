import type { RuleGroup } from "../alert.ts";

/**
 * An alert that always fires, for a receiver that pages the operator when it stops. It is separate from the other alerts, because an
 * Alertmanager without a route for it would notify everyone.
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
      summary: "Prometheus evaluates the rules and reaches the Alertmanager ({{ $value }}).",
      description: "This fires as long as alerts are delivered. Route it only to a receiver that pages when it stops.",
    },
  ],
};
