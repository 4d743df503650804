import {
  buildConditionCase,
  buildPhases,
  buildSample,
  target,
  trouble,
  buildUpgrading,
  type AlertCase,
  type InputSeries,
} from "./alert-case.ts";

const who = target.instance;
const resume = "kubectl exec node-0 -c sidecar -- gatehouse resume";
/** Start time of the target's process; a metric of Node, not of Gatehouse. */
const buildStartTime = (values: string): InputSeries => [
  `process_start_time_seconds{job="${target.job}",instance="${who}"}`,
  values,
];
/** Test cases of the alerts on the sidecar's work. */
export const upkeepCases: readonly AlertCase[] = [
  buildConditionCase({
    alert: "GatehousePaused",
    type: "NotPaused",
    labels: { type: "NotPaused", reason: "Paused" },
    reason: "Paused",
    forMinutes: 1,
    others: [buildSample("gatehouse_command_info", { verb: "resume", command: resume }, `1x${trouble.end}`)],
    summary: `A restart of the node behind ${who} failed and was rolled back (Paused).`,
  }),
  buildConditionCase({
    alert: "GatehouseUpgradeFailed",
    type: "UpgradeVerified",
    labels: { type: "UpgradeVerified" },
    reason: "RolledBack",
    forMinutes: 1,
    summary: `The upgrade of the node behind ${who} failed (0 of 1): RolledBack.`,
  }),
  buildConditionCase({
    alert: "GatehouseDataSuspect",
    type: "DataIntact",
    labels: { type: "DataIntact" },
    reason: "Suspect",
    forMinutes: 1,
    summary: `The data of the node behind ${who} appears corrupt (0 of 1): Suspect.`,
  }),
  {
    alert: "GatehouseUpgradeLong",
    series: [buildUpgrading({ from: 10, to: 160, end: 190 })],
    silentAt: [9, 60, 99],
    firesAt: 101,
    resolvedAt: 161,
    labels: { ...target, type: "UpgradeVerified", reason: "Upgrading" },
    summary: `An upgrade of the node behind ${who} has been in progress for an hour and a half (Upgrading).`,
    nearMiss: { series: [buildUpgrading({ from: 10, to: 95, end: 190 })], silentAt: [90, 101, 150] },
  },
  buildConditionCase({
    alert: "GatehouseConfigContested",
    type: "ConfigReconciled",
    reason: "Contested",
    forMinutes: 5,
    summary: `Another program writes the node.conf managed by ${who} (Contested).`,
  }),
  buildConditionCase({
    alert: "GatehouseRestartBudgetExhausted",
    type: "NoRestartPending",
    reason: "BudgetExhausted",
    forMinutes: 1,
    others: [buildSample("gatehouse_node_restarts_in_last_hour", {}, `3x${trouble.end}`)],
    summary: `The sidecar ${who} has restarted its node 3 times within an hour and has stopped doing so.`,
  }),
  buildConditionCase({
    alert: "GatehouseMetricsNotArriving",
    type: "MetricsArriving",
    reason: "Stale",
    labels: { type: "MetricsArriving" },
    forMinutes: 10,
    summary: `The metrics of the node behind ${who} are missing or not its own (0 of 1): Stale.`,
  }),
  buildConditionCase({
    alert: "GatehouseMetricsNotArriving",
    type: "MetricsArriving",
    reason: "JobShared",
    labels: { type: "MetricsArriving" },
    forMinutes: 10,
    summary: `The metrics of the node behind ${who} are missing or not its own (0 of 1): JobShared.`,
  }),
  {
    alert: "GatehouseReconcileStopped",
    // A reconcile every minute except during the fault; the clock starts at 0.
    series: [
      buildSample(
        "gatehouse_reconcile_last_success_timestamp_seconds",
        {},
        `0+60x${trouble.from - 1} 540x${trouble.to - trouble.from - 1} 3600+60x30`,
      ),
    ],
    silentAt: [9, 12],
    firesAt: 14,
    summary: `The sidecar ${who} has not completed a reconcile for 5m 0s.`,
    nearMiss: {
      series: [buildSample("gatehouse_reconcile_last_success_timestamp_seconds", {}, `0+60x${trouble.end}`)],
      silentAt: [14, 40, 80],
    },
  },
  {
    alert: "GatehouseReconcileStopped",
    of: "a sidecar that never reconciled",
    series: [
      buildSample("gatehouse_reconcile_last_success_timestamp_seconds", {}, `0x59 3600+60x30`),
      buildStartTime(`${trouble.from * 60}x${trouble.end}`),
    ],
    silentAt: [9, 12, 15],
    firesAt: 17,
    summary: `The sidecar ${who} has not completed a reconcile for 7m 0s.`,
    // The first reconcile takes four minutes.
    nearMiss: {
      series: [
        buildSample("gatehouse_reconcile_last_success_timestamp_seconds", {}, `_x10 0x3 840+60x70`),
        buildStartTime(`_x10 ${trouble.from * 60}x80`),
      ],
      silentAt: [12, 13, 15, 40],
    },
  },
  {
    alert: "GatehouseConditionFalse",
    series: [
      buildSample("gatehouse_verdict", { level: "healthy" }, buildPhases("1", "0")),
      buildSample("gatehouse_verdict", { level: "degraded" }, `0x9 1x9 0x39 0x30`),
      buildSample("gatehouse_verdict", { level: "down" }, `0x9 0x9 1x39 0x30`),
    ],
    silentAt: [9, 24],
    // The change from unhealthy to down does not restart the fifteen minutes.
    firesAt: 26,
    summary: `The sidecar ${who} reports its node as down (1 of 1).`,
    nearMiss: {
      series: [buildSample("gatehouse_verdict", { level: "working" }, `1x${trouble.end}`)],
      silentAt: [26, 60],
    },
  },
];
