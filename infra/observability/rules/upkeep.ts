import type { Alert, RuleGroup } from "../alert.ts";
import { condition, series, shownLabel, shownReason, unknownFor, wrongFor } from "../series.ts";

const sameTarget = "on (job, instance)";
const lastPass = series("gatehouse_reconcile_last_success_timestamp_seconds");
const verdict = series("gatehouse_verdict", { level: { in: ["paused", "down", "degraded", "unknown"] } });

const configuration: readonly Alert[] = [
  {
    name: "GatehousePaused",
    expr: `${condition("NotPaused")} == 0`,
    for: "1m",
    severity: "critical",
    summary: `A restart of the node behind {{ $labels.instance }} went wrong and was rolled back ({{ $value }} of 1): ${shownReason("NotPaused")}.`,
    description: `The sidecar changes nothing more. When the cause is gone: ${shownLabel(series("gatehouse_command_info", { verb: "resume" }), "command")}`,
  },
  {
    name: "GatehouseUpgradeFailed",
    expr: `${condition("UpgradeVerified")} == 0`,
    for: "1m",
    severity: "critical",
    summary: `The upgrade of the node behind {{ $labels.instance }} failed or did not begin ({{ $value }} of 1): ${shownReason("UpgradeVerified")}.`,
    description:
      "RolledBack: the node of {{ $labels.instance }} runs as the old version again, with its data, and nothing more is done. RollbackFailed: neither version could be proved. Blocked: the upgrade can't go on, and the node may stand still. NotStarted: it could not start within upgrade.lateMs, or the data could not be copied; the node was not stopped for it.",
  },
  {
    name: "GatehouseUpgradeLong",
    // The data copy alone may take an hour.
    expr: `${unknownFor("UpgradeVerified", "Upgrading")} == 1`,
    for: "90m",
    severity: "warning",
    summary:
      "An upgrade of the node behind {{ $labels.instance }} has been under way for an hour and a half ({{ $labels.reason }}).",
    description:
      "The node of {{ $labels.instance }} may stand still meanwhile, which no other alert reports. The message of UpgradeVerified says which step it is at; start the sidecar, not the node.",
  },
  {
    name: "GatehouseDataSuspect",
    expr: `${condition("DataIntact")} == 0`,
    for: "1m",
    severity: "critical",
    summary: `Signs speak against the data of the node behind {{ $labels.instance }} ({{ $value }} of 1): ${shownReason("DataIntact")}.`,
    description:
      "The message of DataIntact at {{ $labels.instance }} has the signs and the command that restores a snapshot. Read the node's log and look at the disk first.",
  },
  {
    name: "GatehouseVersionOutdated",
    expr: `${wrongFor("VersionSupported", "Outdated")} == 1`,
    for: "1m",
    severity: "critical",
    summary:
      "The node behind {{ $labels.instance }} is of a version that is too old for the chain's height ({{ $labels.reason }}).",
    description:
      "From that height on the node of {{ $labels.instance }} stops, or follows a chain that nobody else does. The message of VersionSupported names the version that is needed. Upgrade now.",
  },
  {
    name: "GatehouseVersionOutdatedSoon",
    expr: `${wrongFor("VersionSupported", "OutdatedSoon")} == 1`,
    for: "10m",
    severity: "warning",
    summary:
      "The chain comes to a height for which the version of the node behind {{ $labels.instance }} is too old ({{ $labels.reason }}).",
    description:
      "The message of VersionSupported at {{ $labels.instance }} says which version is needed, from which block on, and about when that is. Plan the upgrade.",
  },
  {
    name: "GatehouseConfigContested",
    expr: `${condition("SoleWriter")} == 0`,
    for: "5m",
    severity: "warning",
    summary: `Somebody else writes the node.conf that {{ $labels.instance }} keeps ({{ $value }} of 1): ${shownReason("SoleWriter")}.`,
    description:
      "Two writers undo each other's work, and each round may restart the node of {{ $labels.instance }}. Find the other one and stop it.",
  },
  {
    name: "GatehouseRestartBudgetExhausted",
    expr: `${series("gatehouse_node_restarts_in_last_hour")} and ${sameTarget} ${wrongFor("NoRestartPending", "BudgetExhausted")} == 1`,
    for: "1m",
    severity: "critical",
    summary:
      "The sidecar {{ $labels.instance }} has restarted its node {{ $value }} times within an hour and stops doing so.",
    description:
      "What should repair the node of {{ $labels.instance }} does not. Look at why it was restarted before anything restarts it again.",
  },
];

const pushed: readonly Alert[] = [
  {
    name: "GatehouseMetricsNotArriving",
    expr: `${condition("MetricsArriving")} == 0 unless ${sameTarget} ${wrongFor("MetricsArriving", "JobShared")} == 1`,
    for: "10m",
    severity: "warning",
    summary: `The node behind {{ $labels.instance }} pushes no metrics ({{ $value }} of 1): ${shownReason("MetricsArriving")}.`,
    description:
      "The node of {{ $labels.instance }} runs unseen: its own metrics do not reach the Pushgateway. Check whether the Pushgateway answers.",
  },
  {
    name: "GatehouseJobNameConflict",
    expr: `${wrongFor("MetricsArriving", "JobShared")} == 1`,
    for: "10m",
    severity: "warning",
    summary:
      "Another node pushes metrics under the job name of the node behind {{ $labels.instance }} ({{ $labels.reason }}).",
    description:
      "Two nodes overwrite each other's metrics, so that neither's can be trusted. Give each node its own job name.",
  },
];

const watching: readonly Alert[] = [
  {
    name: "GatehouseReconcileStopped",
    // Before the first reconcile, the process's age replaces the time since the last one: on a slow machine, the first may take minutes.
    expr: `time() - (${lastPass} > 0) > 120 or time() - process_start_time_seconds > 300 and ${sameTarget} ${lastPass} == 0`,
    for: "1m",
    severity: "critical",
    summary: "The sidecar {{ $labels.instance }} has made no whole pass for {{ $value | humanizeDuration }}.",
    description:
      "Nobody looks after the node of {{ $labels.instance }}: nothing is corrected, pruned or restarted. The sidecar's page says why.",
  },
  {
    name: "GatehouseConditionFalse",
    expr: `sum without (level) (${verdict}) == 1`,
    for: "15m",
    severity: "warning",
    summary: `The sidecar {{ $labels.instance }} calls its node ${shownLabel(verdict, "level")} ({{ $value }} of 1).`,
    description:
      "This covers whatever has no separate alert. The page of {{ $labels.instance }} says what is wrong and what to do.",
  },
];

/** Alerts on the sidecar's management of the node. */
export const upkeepRules: RuleGroup = {
  name: "gatehouse-upkeep",
  recordings: [],
  alerts: [...configuration, ...pushed, ...watching],
};
