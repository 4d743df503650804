import { type Dashboard, each, perInstance, quantile, rateBy, selected } from "./dashboard.ts";

/** The node, and the sidecar's management of it. */
export const nodeDashboard: Dashboard = {
  uid: "gatehouse-node",
  title: "Gatehouse / Node and upkeep",
  description: "One node: whether it serves, follows the chain, prunes and has room, and what its sidecar did.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Verdict",
          description: "The one word that the status page shows for all conditions together.",
          unit: "none",
          kind: "stat",
          width: 6,
          queries: [{ expr: `${selected("gatehouse_verdict")} == 1`, legend: "{{level}}" }],
          alerts: ["GatehouseConditionFalse"],
        },
        {
          title: "Node answers",
          description: "1 while the node answers eth_blockNumber within health.timeoutMs.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 6,
          queries: [perInstance("gatehouse_node_up")],
          alerts: ["GatehouseNodeDown", "GatehouseSidecarDown"],
        },
        {
          title: "Since the last new block",
          description: "Time for which the height has not changed. A few block times are usual.",
          unit: "s",
          kind: "stat",
          width: 6,
          queries: [perInstance("gatehouse_node_height_unchanged_seconds")],
          alerts: ["GatehouseHeadStale"],
        },
        {
          title: "Since the last whole pass",
          description: "Age of the sidecar's last whole look at the node. Over two minutes nobody looks after it.",
          unit: "s",
          kind: "stat",
          width: 6,
          queries: [
            { expr: `time() - ${selected("gatehouse_reconcile_last_success_timestamp_seconds")}`, legend: each },
          ],
          alerts: ["GatehouseReconcileStopped"],
          threshold: { value: 120 },
        },
        {
          title: "Conditions",
          description: "Every side of the node over time. The status page has the reason and what to do.",
          unit: "none",
          kind: "states",
          width: 24,
          queries: [{ expr: `min by (type) (${selected("gatehouse_condition")})`, legend: "{{type}}" }],
          alerts: ["GatehouseConditionFalse"],
        },
      ],
    },
    {
      title: "Chain",
      panels: [
        {
          title: "Block height",
          description: "The node's latest block. A flat line is a node, or a chain, that stands still.",
          unit: "none",
          queries: [perInstance("gatehouse_node_height_blocks")],
          alerts: ["GatehouseHeadStale"],
        },
        {
          title: "Blocks a second",
          description: "How fast the height rises. Above the chain's own rate the node catches up.",
          unit: "cps",
          queries: [{ expr: `deriv(${selected("gatehouse_node_height_blocks")}[$__rate_interval])`, legend: each }],
        },
        {
          title: "Lag behind the references",
          description: "Blocks that the furthest of lag.references is ahead. Nothing is shown without references.",
          unit: "none",
          queries: [perInstance("gatehouse_node_lag_blocks")],
          alerts: ["GatehouseNodeBehind"],
          onlyWith: "lag.references",
        },
        {
          title: "RPC latency",
          description: "Time that the node takes to answer eth_blockNumber, as the sidecar requests it each second.",
          unit: "s",
          width: 12,
          queries: [
            {
              expr: quantile(0.5, "instance", "gatehouse_node_rpc_latency_seconds_bucket"),
              legend: "p50 {{instance}}",
            },
            {
              expr: quantile(0.99, "instance", "gatehouse_node_rpc_latency_seconds_bucket"),
              legend: "p99 {{instance}}",
            },
          ],
          alerts: ["GatehouseNodeDown"],
        },
        {
          title: "Event loop of the sidecar",
          description:
            "Share of a second by which the process's event loop ran late. Near 1 it is at the end of its CPU.",
          unit: "percentunit",
          width: 12,
          queries: [{ expr: rateBy("instance", "gatehouse_event_loop_delay_seconds_total"), legend: each }],
        },
      ],
    },
    {
      title: "Pruning and disk",
      panels: [
        {
          title: "Versions of the storage",
          description: "What was written last, what may be pruned, and what was. The three lines rise side by side.",
          unit: "short",
          width: 12,
          queries: [
            perInstance("gatehouse_node_prune_flushed_version", "flushed"),
            perInstance("gatehouse_node_prune_reserved_version", "to be kept from"),
            perInstance("gatehouse_node_prune_real_reserved_version", "pruned up to"),
          ],
          alerts: ["GatehousePruningStalled"],
        },
        {
          title: "Auto-pruning",
          description: "Whether auto-pruning is on, as node_cli prints it.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 12,
          queries: [perInstance("gatehouse_node_prune_enabled")],
          alerts: ["GatehousePruningOff"],
        },
        {
          title: "Data disk",
          description: "Used and free bytes of the file system of the node's data.",
          unit: "bytes",
          queries: [
            perInstance("gatehouse_node_disk_used_bytes", "used"),
            perInstance("gatehouse_node_disk_free_bytes", "free"),
          ],
          alerts: ["GatehouseDiskSpaceLow"],
        },
        {
          title: "Disk full in",
          description:
            "Forecast from the last hours. Nothing is shown while the disk does not fill, or was seen for too short a time.",
          unit: "s",
          queries: [perInstance("gatehouse_node_disk_full_in_seconds")],
          alerts: ["GatehouseDiskFullSoon"],
          onlyWith: "a disk that was seen for health.diskForecastAfterSeconds",
        },
        {
          title: "Requested volume",
          description: "Size that the sidecar asked the cluster for; it grows up to volume.ceilingGibibytes.",
          unit: "bytes",
          queries: [perInstance("gatehouse_volume_requested_bytes")],
          alerts: ["GatehouseVolumeAtMaxSize"],
          onlyWith: "volume.claim",
        },
      ],
    },
    {
      title: "What the sidecar did",
      panels: [
        {
          title: "Corrections of node.conf",
          description: "Times that the sidecar wrote node.conf. Many in a row are a second writer.",
          unit: "short",
          queries: [
            {
              expr: `increase(${selected("gatehouse_node_config_corrections_total")}[$__rate_interval])`,
              legend: each,
            },
          ],
          alerts: ["GatehouseConfigContested", "GatehousePaused"],
        },
        {
          title: "Restarts within the last hour",
          description: "Restarts that count towards restart.budgetPerHour.",
          unit: "none",
          queries: [perInstance("gatehouse_node_restarts_in_last_hour")],
          alerts: [
            "GatehouseRestartBudgetExhausted",
            "GatehouseDataSuspect",
            "GatehouseUpgradeFailed",
            "GatehouseUpgradeLong",
            "GatehouseVersionOutdated",
            "GatehouseVersionOutdatedSoon",
          ],
        },
        {
          title: "Passes",
          description: "Whole and failed passes of the upkeep a second.",
          unit: "cps",
          queries: [
            { expr: rateBy("instance", "gatehouse_reconciles_total"), legend: "passes {{instance}}" },
            { expr: rateBy("instance", "gatehouse_reconcile_failures_total"), legend: "failures {{instance}}" },
          ],
          alerts: ["GatehouseReconcileStopped"],
        },
      ],
    },
  ],
};
