import type { Alert, RuleGroup } from "../alert.ts";
import { condition, series, labelTemplate, reasonTemplate, unknownFor, falseFor } from "../series.ts";

const sameTarget = "on (job, instance)";
const lastPass = series("gatehouse_reconcile_last_success_timestamp_seconds");
const verdict = series("gatehouse_verdict", { level: { in: ["paused", "down", "degraded", "unknown"] } });

const configuration: readonly Alert[] = [
  {
    name: "GatehousePaused",
    expr: `${falseFor("NotPaused", "Paused")} == 1`,
    for: "1m",
    severity: "critical",
    summary: "A restart of the node behind {{ $labels.instance }} failed and was rolled back ({{ $labels.reason }}).",
    description: `The sidecar is paused. Once the cause is fixed: ${labelTemplate(series("gatehouse_command_info", { verb: "resume" }), "command")}`,
  },
  {
    name: "GatehouseUpgradeFailed",
    expr: `${condition("UpgradeVerified")} == 0`,
    for: "1m",
    severity: "critical",
    summary: `The upgrade of the node behind {{ $labels.instance }} failed ({{ $value }} of 1): ${reasonTemplate("UpgradeVerified")}.`,
    description:
      "RolledBack: the node of {{ $labels.instance }} runs the old version again, with its data, and the sidecar takes no further action. RollbackFailed: neither version could be verified. Blocked: the upgrade can't continue, and the node may be stopped.",
  },
  {
    name: "GatehouseUpgradeLong",
    // Copying the data alone may take an hour.
    expr: `${unknownFor("UpgradeVerified", "Upgrading")} == 1`,
    for: "90m",
    severity: "warning",
    summary:
      "An upgrade of the node behind {{ $labels.instance }} has been in progress for an hour and a half ({{ $labels.reason }}).",
    description:
      "The node of {{ $labels.instance }} may be stopped during the upgrade, which no other alert reports. The message of UpgradeVerified states the current step; start the sidecar, not the node.",
  },
  {
    name: "GatehouseDataSuspect",
    expr: `${condition("DataIntact")} == 0`,
    for: "1m",
    severity: "critical",
    summary: `The data of the node behind {{ $labels.instance }} appears corrupt ({{ $value }} of 1): ${reasonTemplate("DataIntact")}.`,
    description:
      "The message of DataIntact at {{ $labels.instance }} lists the symptoms. Read the node's log and check the disk; then replace the data with a snapshot, as the runbook says.",
  },
  {
    name: "GatehouseVersionOutdated",
    expr: `${falseFor("VersionSupported", "Outdated")} == 1`,
    for: "1m",
    severity: "critical",
    summary:
      "The node behind {{ $labels.instance }} runs a version that is too old for the chain's height ({{ $labels.reason }}).",
    description:
      "From that height, the node of {{ $labels.instance }} stops or forks off the chain. The message of VersionSupported states the required version. Upgrade now.",
  },
  {
    name: "GatehouseVersionOutdated",
    expr: `${falseFor("VersionSupported", "OutdatedSoon")} == 1`,
    for: "10m",
    severity: "warning",
    summary:
      "The chain will soon reach a height for which the version of the node behind {{ $labels.instance }} is too old ({{ $labels.reason }}).",
    description:
      "The message of VersionSupported at {{ $labels.instance }} states the required version, from which block, and about when. Plan the upgrade.",
  },
  {
    name: "GatehouseConfigContested",
    // Without the reason, so that another one does not restart the alert.
    expr: `max without (type, reason) (${falseFor("ConfigReconciled", "Contested", "StartRewrites", "Locked")} == 1)`,
    for: "5m",
    severity: "warning",
    summary: `Another program writes the node.conf managed by {{ $labels.instance }} (${reasonTemplate("ConfigReconciled")}).`,
    description:
      "The two writers undo each other's changes, and each round may restart the node of {{ $labels.instance }}. Find the other program and stop it.",
  },
  {
    name: "GatehouseRestartBudgetExhausted",
    expr: `${series("gatehouse_node_restarts_in_last_hour")} and ${sameTarget} ${falseFor("NoRestartPending", "BudgetExhausted")} == 1`,
    for: "1m",
    severity: "critical",
    summary:
      "The sidecar {{ $labels.instance }} has restarted its node {{ $value }} times within an hour and has stopped doing so.",
    description:
      "Restarts do not repair the node of {{ $labels.instance }}. Find out why it was restarted before you restart it again.",
  },
];

const pushed: readonly Alert[] = [
  {
    name: "GatehouseMetricsNotArriving",
    expr: `${condition("MetricsArriving")} == 0`,
    for: "10m",
    severity: "warning",
    summary: `The metrics of the node behind {{ $labels.instance }} are missing or not its own ({{ $value }} of 1): ${reasonTemplate("MetricsArriving")}.`,
    description:
      "The node of {{ $labels.instance }} is unmonitored. Check whether the Pushgateway responds; JobShared: another node pushes under its job name, so give each node its own.",
  },
];

const watching: readonly Alert[] = [
  {
    name: "GatehouseReconcileStopped",
    // Before the first reconcile, the process's age is used instead of the time since the last reconcile: on a slow machine, the first may
    // take minutes.
    expr: `time() - (${lastPass} > 0) > 120 or time() - process_start_time_seconds > 300 and ${sameTarget} ${lastPass} == 0`,
    for: "1m",
    severity: "critical",
    summary: "The sidecar {{ $labels.instance }} has not completed a reconcile for {{ $value | humanizeDuration }}.",
    description:
      "The node of {{ $labels.instance }} is unattended: nothing is corrected, pruned or restarted. The sidecar's status page shows why.",
  },
  {
    name: "GatehouseConditionFalse",
    expr: `sum without (level) (${verdict}) == 1`,
    for: "15m",
    severity: "warning",
    summary: `The sidecar {{ $labels.instance }} reports its node as ${labelTemplate(verdict, "level")} ({{ $value }} of 1).`,
    description:
      "This covers everything without a separate alert. The status page of {{ $labels.instance }} shows what is wrong and what to do.",
  },
];

/** Alerts on the sidecar's management of the node. */
export const upkeepRules: RuleGroup = {
  name: "gatehouse-upkeep",
  recordings: [],
  alerts: [...configuration, ...pushed, ...watching],
};
