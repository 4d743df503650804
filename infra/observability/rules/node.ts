import type { Alert, RuleGroup } from "../alert.ts";
import { condition, series, reasonTemplate, unknownFor, falseFor } from "../series.ts";

const sameTarget = "on (job, instance)";
const up = series("gatehouse_node_up");
const free = series("gatehouse_node_disk_free_bytes");
const upgrading = `${unknownFor("UpgradeVerified", "Upgrading")} == 1`;
const restarting = `${falseFor("NoRestartPending", "Running", "Settling")} == 1`;

/** Forecast horizon for free disk space, in days. */
const diskDays = 4;

const serving: readonly Alert[] = [
  {
    name: "GatehouseNodeDown",
    // A restart by the sidecar has its own deadlines. A node that stays unreachable is down, unless its data is being copied for an
    // upgrade: starting the node would break the copy.
    expr: `((${up} == 0 unless ${sameTarget} ${restarting}) or (max_over_time(${up}[20m]) == 0 and ${up} offset 20m == 0)) unless ${sameTarget} ${upgrading}`,
    for: "3m",
    severity: "critical",
    summary: `The node behind {{ $labels.instance }} is not responding ({{ $value }} of 1): ${reasonTemplate("RpcResponding")}.`,
    description:
      "Calls to the gateway of {{ $labels.instance }} fail. See the cause on the sidecar's status page, then check the node's process and log.",
  },
  {
    name: "GatehouseHeadStale",
    expr: `${series("gatehouse_node_height_unchanged_seconds")} and ${sameTarget} ${condition("HeightAdvancing")} == 0 and ${sameTarget} ${up} == 1`,
    for: "3m",
    severity: "critical",
    summary: `The node behind {{ $labels.instance }} has had no new block for {{ $value | humanizeDuration }}: ${reasonTemplate("HeightAdvancing")}.`,
    description:
      "The node of {{ $labels.instance }} responds, but its chain is stalled. Check its peers and its log, and compare with another node of the chain.",
  },
  {
    name: "GatehouseNodeBehind",
    expr: `${series("gatehouse_node_lag_blocks")} and ${sameTarget} ${condition("NodeSynced")} == 0`,
    for: "10m",
    severity: "warning",
    summary: "The node behind {{ $labels.instance }} is {{ $value }} blocks behind the references.",
    description:
      "Callers of {{ $labels.instance }} read stale state. Check whether the lag shrinks (the node is catching up) or grows (too little disk, CPU or peers).",
  },
];

const pruning: readonly Alert[] = [
  {
    name: "GatehousePruningStalled",
    expr: `${condition("Pruning")} == 0`,
    for: "15m",
    severity: "warning",
    summary: `The node behind {{ $labels.instance }} does not prune as the settings demand ({{ $value }} of 1): ${reasonTemplate("Pruning")}.`,
    description:
      "The disk of {{ $labels.instance }} fills without pruning. The status page shows what node_cli returned, or that nothing is pruned; check the node's log and the free space.",
  },
];

const disk: readonly Alert[] = [
  {
    name: "GatehouseDiskSpaceLow",
    // Less than six hours of data yields no slope worth alerting on.
    expr:
      `(${free} > 0 and predict_linear(${free}[6h], ${diskDays} * 86400) < 0 and ${free} offset 6h)` +
      ` or (${free} and ${sameTarget} ${falseFor("DiskSpaceSufficient", "AtMaxSize", "ResizeFailed")} == 1)`,
    for: "1h",
    severity: "warning",
    summary: `The data disk of the node behind {{ $labels.instance }} has {{ $value | humanize1024 }}B left, and is full within ${diskDays} days or can't grow (${reasonTemplate("DiskSpaceSufficient")}).`,
    description:
      "When the disk of {{ $labels.instance }} is full, the node stops. Expand it, or prune more. AtMaxSize: raise volume.ceilingGibibytes. ResizeFailed: the status page shows why.",
  },
  {
    name: "GatehouseDiskSpaceLow",
    expr: `${free} and ${sameTarget} ${falseFor("DiskSpaceSufficient", "Low", "FullSoon")} == 1`,
    for: "5m",
    severity: "critical",
    summary: `The data disk of the node behind {{ $labels.instance }} has {{ $value | humanize1024 }}B left: ${reasonTemplate("DiskSpaceSufficient")}.`,
    description:
      "When the disk of {{ $labels.instance }} is full, the node stops and may corrupt its data. Free space now.",
  },
];

/** Alerts on the node itself: serving, pruning and disk space. */
export const nodeRules: RuleGroup = {
  name: "gatehouse-node",
  recordings: [],
  alerts: [...serving, ...pruning, ...disk],
};
