import type { Condition, ConditionType } from "./condition.ts";

/** Page in `docs/runbooks/` for each condition; {@link byReason} lists the exceptions. */
const byCondition: Readonly<Record<ConditionType, string>> = {
  RpcResponding: "node-down",
  ChainIdMatches: "condition-false",
  HeightAdvancing: "head-stale",
  NodeSynced: "node-behind",
  WebSocketResponding: "gateway-link-lost",
  GatewayResponsive: "gateway-latency",
  GatewayServing: "gateway-link-lost",
  CallsSucceeding: "gateway-errors",
  Reconciling: "reconcile-stopped",
  ConfigReconciled: "condition-false",
  VersionConsistent: "condition-false",
  VersionSupported: "version-outdated",
  Pruning: "pruning-stalled",
  MetricsArriving: "metrics-not-arriving",
  DiskSpaceSufficient: "disk-space-low",
  ConnectionsAvailable: "limiter-saturated",
  FilesLoaded: "file-rejected",
  NoRestartPending: "condition-false",
  RollbackReady: "condition-false",
  UpgradeVerified: "upgrade-failed",
  DataIntact: "data-suspect",
  NotPaused: "paused",
};

const byReason: Readonly<Record<string, string>> = {
  "CallsSucceeding Overloaded": "overloaded",
  "ConfigReconciled Contested": "config-contested",
  "ConfigReconciled StartRewrites": "config-contested",
  "ConfigReconciled Locked": "config-contested",
  "NotPaused WaitingForApproval": "condition-false",
  "NoRestartPending BudgetExhausted": "restart-budget-exhausted",
};

export function findRunbook({ type, reason }: Pick<Condition, "type" | "reason">): string {
  return `${byReason[`${type} ${reason}`] ?? byCondition[type]}.md`;
}
