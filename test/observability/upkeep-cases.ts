import {
  conditionCase,
  phases,
  sample,
  target,
  trouble,
  upgrading,
  upSample,
  wrong,
  type AlertCase,
  type InputSeries,
} from "./alert-case.ts";

const who = target.instance;
const resume = "kubectl exec node-0 -c sidecar -- gatehouse resume";
const build = (service: string, values: string) =>
  sample("gatehouse_build_info", { service, version: "0.1.0", node: "v26" }, values);
/** When the process of the target began; a metric of Node's, not Gatehouse's own. */
const startedAt = (values: string): InputSeries => [
  `process_start_time_seconds{job="${target.job}",instance="${who}"}`,
  values,
];
/** Prometheus's own metric of a target that was scraped with the label of its service. */
const labelled = (name: string, service: string) =>
  `${name}{job="${target.job}",instance="${who}",gatehouse="${service}"}`;
/** A target that can't be scraped has no series of its own. */
const scrapedUntilTrouble = phases("1", "_");

/** What the alerts on the sidecar's work and on processes do. */
export const upkeepCases: readonly AlertCase[] = [
  conditionCase({
    alert: "GatehouseConfigHeld",
    type: "Unheld",
    labels: { type: "Unheld" },
    reason: "Held",
    forMinutes: 1,
    beside: [sample("gatehouse_command_info", { verb: "resume", command: resume }, `1x${trouble.end}`)],
    summary: `A restart of the node behind ${who} went wrong and was rolled back (0 of 1): Held.`,
  }),
  conditionCase({
    alert: "GatehouseUpgradeFailed",
    type: "UpgradeProved",
    labels: { type: "UpgradeProved" },
    reason: "RolledBack",
    forMinutes: 1,
    summary: `The upgrade of the node behind ${who} failed or did not begin (0 of 1): RolledBack.`,
  }),
  {
    alert: "GatehouseUpgradeLong",
    series: [upgrading({ from: 10, to: 160, end: 190 })],
    silentAt: [9, 60, 99],
    firesAt: 101,
    resolvedAt: 161,
    labels: { ...target, type: "UpgradeProved", reason: "Upgrading" },
    summary: `An upgrade of the node behind ${who} has been under way for an hour and a half (Upgrading).`,
    nearMiss: { series: [upgrading({ from: 10, to: 95, end: 190 })], silentAt: [90, 101, 150] },
  },
  conditionCase({
    alert: "GatehouseConfigContested",
    type: "SoleWriter",
    labels: { type: "SoleWriter" },
    reason: "Contested",
    forMinutes: 5,
    summary: `Somebody else writes the node.conf that ${who} keeps (0 of 1): Contested.`,
  }),
  conditionCase({
    alert: "GatehouseRestartBudgetUsedUp",
    type: "RestartSettled",
    reason: "BudgetExhausted",
    forMinutes: 1,
    beside: [sample("gatehouse_node_restarts_in_last_hour", {}, `3x${trouble.end}`)],
    summary: `The sidecar ${who} has restarted its node 3 times within an hour and stops doing so.`,
  }),
  conditionCase({
    alert: "GatehouseMetricsNotArriving",
    type: "MetricsArriving",
    reason: "Stale",
    labels: { type: "MetricsArriving" },
    forMinutes: 10,
    summary: `The node behind ${who} pushes no metrics (0 of 1): Stale.`,
  }),
  {
    ...conditionCase({
      alert: "GatehouseJobNameShared",
      type: "MetricsArriving",
      reason: "JobShared",
      forMinutes: 10,
      labels: { type: "MetricsArriving", reason: "JobShared" },
      summary: `Another node pushes metrics under the job name of the node behind ${who} (JobShared).`,
    }),
    nearMiss: { series: wrong("MetricsArriving", "Missing"), silentAt: [21, 40] },
  },
  {
    alert: "GatehouseNotLookedAfter",
    // A pass each minute but in the trouble; the clock begins at 0.
    series: [
      sample(
        "gatehouse_upkeep_last_success_timestamp_seconds",
        {},
        `0+60x${trouble.from - 1} 540x${trouble.to - trouble.from - 1} 3600+60x30`,
      ),
    ],
    silentAt: [9, 12],
    firesAt: 14,
    resolvedAt: 61,
    labels: target,
    summary: `The sidecar ${who} has made no whole pass for 5m 0s.`,
    nearMiss: {
      series: [sample("gatehouse_upkeep_last_success_timestamp_seconds", {}, `0+60x${trouble.end}`)],
      silentAt: [14, 40, 80],
    },
  },
  {
    alert: "GatehouseNotLookedAfter",
    of: "a sidecar that never made a pass",
    series: [
      sample("gatehouse_upkeep_last_success_timestamp_seconds", {}, `0x59 3600+60x30`),
      startedAt(`${trouble.from * 60}x${trouble.end}`),
    ],
    silentAt: [9, 12, 15],
    firesAt: 17,
    resolvedAt: 61,
    labels: target,
    summary: `The sidecar ${who} has made no whole pass for 7m 0s.`,
    // The first pass takes four minutes.
    nearMiss: {
      series: [
        sample("gatehouse_upkeep_last_success_timestamp_seconds", {}, `_x10 0x3 840+60x70`),
        startedAt(`_x10 ${trouble.from * 60}x80`),
      ],
      silentAt: [12, 13, 15, 40],
    },
  },
  {
    alert: "GatehouseNotRight",
    series: [
      sample("gatehouse_verdict", { level: "right" }, phases("1", "0")),
      sample("gatehouse_verdict", { level: "wrong" }, `0x9 1x9 0x39 0x30`),
      sample("gatehouse_verdict", { level: "down" }, `0x9 0x9 1x39 0x30`),
    ],
    silentAt: [9, 24],
    // Down is worse than wrong and does not begin the fifteen minutes anew.
    firesAt: 26,
    resolvedAt: 61,
    labels: target,
    summary: `The sidecar ${who} calls its node down (1 of 1).`,
    nearMiss: { series: [sample("gatehouse_verdict", { level: "working" }, `1x${trouble.end}`)], silentAt: [26, 60] },
  },
  {
    alert: "GatehouseSidecarDown",
    of: "a target that does not answer",
    series: [upSample(phases("1", "0")), build("sidecar", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    resolvedAt: 61,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is gone.`,
    nearMiss: { series: [upSample(phases("1", "0")), build("facilitator", scrapedUntilTrouble)], silentAt: [14, 40] },
  },
  {
    alert: "GatehouseSidecarDown",
    of: "a job without targets",
    series: [upSample(scrapedUntilTrouble), build("sidecar", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    resolvedAt: 61,
    labels: { job: target.job, service: "sidecar" },
    summary: `The sidecar  of job gatehouse is gone.`,
    nearMiss: { series: [upSample("1x90"), build("sidecar", scrapedUntilTrouble)], silentAt: [14, 40] },
  },
  {
    alert: "GatehouseServiceDown",
    series: [upSample(phases("1", "0")), build("facilitator", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    resolvedAt: 61,
    labels: { ...target, service: "facilitator" },
    summary: `The facilitator ${who} of job gatehouse is gone.`,
    nearMiss: {
      series: [upSample(phases("1", "0", { from: 10, to: 12, end: 90 })), build("facilitator", "1x90")],
      silentAt: [11, 14],
    },
  },
  {
    alert: "GatehouseSidecarDown",
    of: "a target that never answered",
    // Looked at for a quarter of an hour first: a service may start that long after its Prometheus.
    series: [[labelled("up", "sidecar"), "0x59 1x30"]],
    silentAt: [3, 16],
    firesAt: 20,
    resolvedAt: 61,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is gone.`,
    nearMiss: {
      series: [
        [labelled("up", "facilitator"), "0x90"],
        [`up{job="theirs/sidecar",instance="10.0.0.1:80"}`, "0x90"],
      ],
      silentAt: [20, 60, 89],
    },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a target that never answered",
    series: [[labelled("up", "pushgateway"), "0x59 1x30"]],
    silentAt: [3, 16],
    firesAt: 20,
    resolvedAt: 61,
    labels: { ...target, service: "pushgateway" },
    summary: `The pushgateway ${who} of job gatehouse is gone.`,
    nearMiss: {
      series: [
        [labelled("up", "sidecar"), "0x90"],
        [`up{job="theirs",instance="10.0.0.1:80"}`, "0x90"],
      ],
      silentAt: [20, 60, 89],
    },
  },
  {
    alert: "GatehouseSidecarDown",
    of: "a target that has been away for ten days",
    stepMinutes: 4,
    // Longer than anything is remembered of it.
    series: [
      [labelled("up", "sidecar"), `1x14 0x${10 * 360} 1x30`],
      [`gatehouse_build_info{job="gatehouse",instance="${who}",gatehouse="sidecar",service="sidecar"}`, "1x14 stale"],
    ],
    silentAt: [56],
    firesAt: 9 * 24 * 60,
    resolvedAt: (15 + 3_601 + 1) * 4,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is gone.`,
    nearMiss: { series: [[labelled("up", "sidecar"), "1x90"]], silentAt: [40, 300] },
  },
  {
    alert: "GatehouseClockDrift",
    series: [sample("gatehouse_time_seconds", {}, "0+60x9 720+60x49 3600+60x30")],
    silentAt: [9, 19],
    firesAt: 21,
    resolvedAt: 61,
    labels: target,
    summary: `The clock of ${who} and Prometheus's clock differ by 2m 0s.`,
    nearMiss: { series: [sample("gatehouse_time_seconds", {}, "5+60x90")], silentAt: [21, 60] },
  },
  {
    alert: "GatehouseFileRefused",
    series: [sample("gatehouse_file_in_force", { setting: "gateway.policyPath" }, phases("1", "0"))],
    silentAt: [9, 11],
    firesAt: 13,
    resolvedAt: 61,
    labels: { ...target, setting: "gateway.policyPath" },
    summary: `The file of gateway.policyPath at ${who} is refused (0 of 1): what stood there before is in force.`,
    nearMiss: {
      series: [
        sample(
          "gatehouse_file_in_force",
          { setting: "gateway.policyPath" },
          phases("1", "0", { from: 10, to: 11, end: 90 }),
        ),
      ],
      silentAt: [11, 13],
    },
  },
];
