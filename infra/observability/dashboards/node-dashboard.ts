import { type Dashboard, each, perInstance, quantile, rateBy, selected } from "./dashboard.ts";

/** The node, and how the sidecar manages it. */
export const nodeDashboard: Dashboard = {
  uid: "gatehouse-node",
  title: "Gatehouse / Node and upkeep",
  description: "One node: availability, sync, pruning, disk space, and the sidecar's actions.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Verdict",
          description: "Overall state across all conditions, as on the status page.",
          unit: "none",
          kind: "stat",
          width: 6,
          queries: [{ expr: `${selected("gatehouse_verdict")} == 1`, legend: "{{level}}" }],
          alerts: ["GatehouseConditionFalse"],
        },
        {
          title: "Node responds",
          description: "1 while the node responds to eth_blockNumber within health.timeoutMs.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 6,
          queries: [perInstance("gatehouse_node_up")],
          alerts: ["GatehouseNodeDown", "GatehouseServiceDown"],
        },
        {
          title: "Since the last new block",
          description: "Time since the height last changed. A few block times are normal.",
          unit: "s",
          kind: "stat",
          width: 6,
          queries: [perInstance("gatehouse_node_height_unchanged_seconds")],
          alerts: ["GatehouseHeadStale"],
        },
        {
          title: "Since the last reconcile",
          description: "Time since the last complete reconcile. Above two minutes, the node is unattended.",
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
          description: "All conditions of the node over time. The status page has the reason and what to do.",
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
          description: "The node's latest block. A flat line means a stalled node or chain.",
          unit: "none",
          queries: [perInstance("gatehouse_node_height_blocks")],
          alerts: ["GatehouseHeadStale"],
        },
        {
          title: "Blocks per second",
          description: "Growth rate of the height. A rate above the chain's own means that the node is catching up.",
          unit: "cps",
          queries: [{ expr: `deriv(${selected("gatehouse_node_height_blocks")}[$__rate_interval])`, legend: each }],
        },
        {
          title: "Lag behind the references",
          description: "Lag in blocks behind the most advanced of lag.references. Empty without references.",
          unit: "none",
          queries: [perInstance("gatehouse_node_lag_blocks")],
          alerts: ["GatehouseNodeBehind"],
          onlyWith: "lag.references",
        },
        {
          title: "RPC latency",
          description: "Latency of eth_blockNumber on the node, measured by the sidecar every second.",
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
          description: "Event loop delay per second. Near 1, the process is out of CPU.",
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
          description:
            "The last written version, the last prunable version, and the last pruned version. The three lines should rise in parallel.",
          unit: "short",
          width: 12,
          queries: [
            perInstance("gatehouse_node_prune_flushed_version", "flushed"),
            perInstance("gatehouse_node_prune_reserved_version", "retained from"),
            perInstance("gatehouse_node_prune_real_reserved_version", "pruned up to"),
          ],
          alerts: ["GatehousePruningStalled"],
        },
        {
          title: "Auto-pruning",
          description: "Whether auto-pruning is on, as reported by node_cli.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 12,
          queries: [perInstance("gatehouse_node_prune_enabled")],
          alerts: ["GatehousePruningStalled"],
        },
        {
          title: "Data disk",
          description: "Used and free bytes of the file system with the node's data.",
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
            "Forecast from the last hours. Empty while the disk is not filling, or observations are too few.",
          unit: "s",
          queries: [perInstance("gatehouse_node_disk_full_in_seconds")],
          alerts: ["GatehouseDiskSpaceLow"],
          onlyWith: "a disk that was observed for three hours",
        },
        {
          title: "Requested volume",
          description: "Volume size requested by the sidecar; it grows up to volume.ceilingGibibytes.",
          unit: "bytes",
          queries: [perInstance("gatehouse_volume_requested_bytes")],
          alerts: ["GatehouseDiskSpaceLow"],
          onlyWith: "volume.claim",
        },
      ],
    },
    {
      title: "Sidecar actions",
      panels: [
        {
          title: "Corrections of node.conf",
          description: "Writes of node.conf by the sidecar. Many in a row indicate a second writer.",
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
          description: "Restarts counted against restart.budgetPerHour.",
          unit: "none",
          queries: [perInstance("gatehouse_node_restarts_in_last_hour")],
          alerts: [
            "GatehouseRestartBudgetExhausted",
            "GatehouseDataSuspect",
            "GatehouseUpgradeFailed",
            "GatehouseUpgradeLong",
            "GatehouseVersionOutdated",
          ],
        },
        {
          title: "Reconciles",
          description: "Complete and failed reconciles per second.",
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
