import type { Alert, RuleGroup } from "../alert.ts";
import { condition, series, shownReason, unknownFor, wrongFor } from "../series.ts";

const sameTarget = "on (job, instance)";
const up = series("gatehouse_node_up");
const free = series("gatehouse_node_disk_free_bytes");
const upgrading = `${unknownFor("UpgradeVerified", "Upgrading")} == 1`;
const restarting = `${wrongFor("NoRestartPending", "Running", "Settling")} == 1`;

/** Forecast horizon for free disk space, in days. */
const diskDays = 4;

const serving: readonly Alert[] = [
  {
    name: "GatehouseNodeDown",
    // A restart by the sidecar has its own deadlines. A node that stays unreachable is down, unless its data is being copied for an
    // upgrade: starting it would break the copy.
    expr: `((${up} == 0 unless ${sameTarget} ${restarting}) or (max_over_time(${up}[20m]) == 0 and ${up} offset 20m == 0)) unless ${sameTarget} ${upgrading}`,
    for: "3m",
    severity: "critical",
    summary: `The node behind {{ $labels.instance }} does not answer ({{ $value }} of 1): ${shownReason("RpcResponding")}.`,
    description:
      "Calls to the gateway of {{ $labels.instance }} fail. Ask the sidecar's page for the cause, then look at the node's process and its log.",
  },
  {
    name: "GatehouseHeadStale",
    expr: `${series("gatehouse_node_height_unchanged_seconds")} and ${sameTarget} ${condition("HeightAdvancing")} == 0 and ${sameTarget} ${up} == 1`,
    for: "3m",
    severity: "critical",
    summary: `The node behind {{ $labels.instance }} has had no new block for {{ $value | humanizeDuration }}: ${shownReason("HeightAdvancing")}.`,
    description:
      "The node of {{ $labels.instance }} answers, but its chain stands still. Look at its peers and its log, and compare with another node of the chain.",
  },
  {
    name: "GatehouseNodeBehind",
    expr: `${series("gatehouse_node_lag_blocks")} and ${sameTarget} ${condition("NodeSynced")} == 0`,
    for: "10m",
    severity: "warning",
    summary: "The node behind {{ $labels.instance }} is {{ $value }} blocks behind the references.",
    description:
      "Callers of {{ $labels.instance }} read old state. Check whether the lag shrinks (the node catches up) or grows (too little disk, CPU or peers).",
  },
];

const pruning: readonly Alert[] = [
  {
    name: "GatehousePruningOff",
    expr: `${condition("AutoPruneEnabled")} == 0`,
    for: "15m",
    severity: "warning",
    summary: `Auto-pruning of the node behind {{ $labels.instance }} is not as the settings want it ({{ $value }} of 1): ${shownReason("AutoPruneEnabled")}.`,
    description:
      "The disk of {{ $labels.instance }} fills without pruning. The sidecar tries on by itself; its page says what node_cli answered.",
  },
  {
    name: "GatehousePruningStalled",
    expr: `${condition("PruneAdvancing")} == 0`,
    for: "15m",
    severity: "warning",
    summary: `Pruning of the node behind {{ $labels.instance }} makes no progress ({{ $value }} of 1): ${shownReason("PruneAdvancing")}.`,
    description:
      "Auto-pruning of {{ $labels.instance }} is on, yet nothing is pruned, and the disk fills. Look at the node's log and at the free space.",
  },
];

const disk: readonly Alert[] = [
  {
    name: "GatehouseDiskFullSoon",
    // Less than six hours of data give no slope worth alerting on.
    expr: `predict_linear(${free}[6h], ${diskDays} * 86400) < 0 and ${free} offset 6h and ${free} > 0`,
    for: "1h",
    severity: "warning",
    summary: `The data disk of the node behind {{ $labels.instance }} is full within ${diskDays} days; by then {{ $value | humanize1024 }}B would be left.`,
    description:
      "At the slope of the last six hours the disk of {{ $labels.instance }} has no room left soon, and the node stops. Enlarge it, or prune more.",
  },
  {
    name: "GatehouseDiskSpaceLow",
    expr: `${free} and ${sameTarget} ${condition("DiskSpaceSufficient")} == 0`,
    for: "5m",
    severity: "critical",
    summary: `The data disk of the node behind {{ $labels.instance }} has {{ $value | humanize1024 }}B left: ${shownReason("DiskSpaceSufficient")}.`,
    description: "A node of {{ $labels.instance }} without room stops and may damage its data. Make room now.",
  },
  {
    name: "GatehouseVolumeAtMaxSize",
    expr: `${series("gatehouse_volume_requested_bytes")} and ${sameTarget} ${wrongFor("VolumeSizeSufficient", "AtMaxSize")} == 1`,
    for: "10m",
    severity: "warning",
    summary:
      "The volume of the node behind {{ $labels.instance }} needs to grow beyond its ceiling; it has {{ $value | humanize1024 }}B.",
    description:
      "The sidecar of {{ $labels.instance }} grows the volume up to volume.ceilingGibibytes and no further. Raise the ceiling, or prune more.",
  },
];

/** Alerts on the node itself: serving, pruning and disk space. */
export const nodeRules: RuleGroup = {
  name: "gatehouse-node",
  recordings: [],
  alerts: [...serving, ...pruning, ...disk],
};
