import {
  buildConditionCase,
  buildPhases,
  buildSample,
  target,
  trouble,
  buildUpgrading,
  buildWrong,
  type AlertCase,
} from "./alert-case.ts";

const who = target.instance;
const up = (values: string) => buildSample("gatehouse_node_up", {}, values);
const steady = (value: number) => `${value}x${trouble.end}`;
const gibibyte = 2 ** 30;
/** Half a year of one-minute steps would be slow. Prometheus accepts four minutes between two samples, but not ten. */
const wide = { stepMinutes: 4, hours: (count: number) => count * 15 };

const roomyDisk = buildSample("gatehouse_node_disk_free_bytes", {}, `${60 * gibibyte}x130`);

const long = { from: 10, to: 130, end: 160 };
const restarting = { from: 10, to: 18, end: 90 };

export const nodeCases: readonly AlertCase[] = [
  {
    alert: "GatehouseNodeDown",
    of: "a stopped node",
    series: [up(buildPhases("1", "0")), ...buildWrong("RpcResponding", "ConnectionRefused")],
    silentAt: [9, 12],
    firesAt: 14,
    summary: `The node behind ${who} is not responding (0 of 1): ConnectionRefused.`,
    nearMiss: {
      series: [up(buildPhases("1", "0", restarting)), ...buildWrong("NoRestartPending", "Running", restarting)],
      silentAt: [14, 17, 20, 40],
    },
  },
  {
    alert: "GatehouseNodeDown",
    of: "a restart that never completes",
    series: [
      up(buildPhases("1", "0")),
      ...buildWrong("RpcResponding", "TimedOut"),
      ...buildWrong("NoRestartPending", "Settling"),
    ],
    silentAt: [9, 28],
    firesAt: 35,
    summary: `The node behind ${who} is not responding (0 of 1): TimedOut.`,
    nearMiss: { series: [up(steady(1)), ...buildWrong("NoRestartPending", "Settling")], silentAt: [35, 50] },
  },
  {
    alert: "GatehouseNodeDown",
    of: "a failed upgrade with the node down",
    series: [up(buildPhases("1", "0", long)), buildUpgrading({ ...long, to: 70 })],
    silentAt: [14, 40, 69, 71],
    firesAt: 74,
    resolvedAt: 131,
    summary: `The node behind ${who} is not responding (0 of 1): unknown.`,
    // The node is down for an hour while its data is copied.
    nearMiss: {
      series: [
        up(buildPhases("1", "0", { ...long, to: 75 })),
        ...buildWrong("NoRestartPending", "Running", { ...long, to: 75 }),
        buildUpgrading({ ...long, to: 78 }),
      ],
      silentAt: [14, 34, 50, 74, 90],
    },
  },
  buildConditionCase({
    alert: "GatehouseHeadStale",
    type: "HeightAdvancing",
    reason: "Stalled",
    forMinutes: 3,
    others: [buildSample("gatehouse_node_height_unchanged_seconds", {}, steady(240)), up(steady(1))],
    summary: `The node behind ${who} has had no new block for 4m 0s: Stalled.`,
  }),
  {
    ...buildConditionCase({
      alert: "GatehouseHeadStale",
      type: "HeightAdvancing",
      reason: "NoNewBlock",
      forMinutes: 3,
      others: [buildSample("gatehouse_node_height_unchanged_seconds", {}, steady(240)), up(steady(1))],
      summary: `The node behind ${who} has had no new block for 4m 0s: NoNewBlock.`,
    }),
    // An unresponsive node is down, which has its own alert.
    nearMiss: {
      series: [
        ...buildWrong("HeightAdvancing", "NoNewBlock"),
        buildSample("gatehouse_node_height_unchanged_seconds", {}, steady(240)),
        up(buildPhases("1", "0")),
      ],
      silentAt: [14, 30, 59],
    },
  },
  buildConditionCase({
    alert: "GatehouseNodeBehind",
    type: "NodeSynced",
    reason: "Behind",
    forMinutes: 10,
    others: [buildSample("gatehouse_node_lag_blocks", {}, steady(120))],
    summary: `The node behind ${who} is 120 blocks behind the references.`,
  }),
  buildConditionCase({
    alert: "GatehousePruningStalled",
    type: "Pruning",
    labels: { type: "Pruning" },
    reason: "EnableFailed",
    forMinutes: 15,
    summary: `The node behind ${who} does not prune as configured (0 of 1): EnableFailed.`,
  }),
  buildConditionCase({
    alert: "GatehousePruningStalled",
    type: "Pruning",
    labels: { type: "Pruning" },
    reason: "PruningStalled",
    forMinutes: 15,
    summary: `The node behind ${who} does not prune as configured (0 of 1): PruningStalled.`,
  }),
  {
    alert: "GatehouseDiskSpaceLow",
    severity: "warning",
    stepMinutes: wide.stepMinutes,
    // 100 GiB are free, and 2 GiB less each hour from the tenth hour on. In the 30th hour, an operator doubles the disk.
    series: [
      buildSample(
        "gatehouse_node_disk_free_bytes",
        {},
        `${100 * gibibyte}x${wide.hours(10)} ${100 * gibibyte}-${(2 * gibibyte) / 15}x${wide.hours(20)} ${400 * gibibyte}x${wide.hours(20)}`,
      ),
    ],
    silentAt: [8 * 60, 10 * 60],
    firesAt: 20 * 60,
    resolvedAt: 40 * 60,
    summary: `The data disk of the node behind ${who} has 80.13GiB left, and is full within 4 days or can't grow (unknown).`,
    nearMiss: {
      // At half a GiB per hour, the disk lasts for eight days.
      series: [
        buildSample(
          "gatehouse_node_disk_free_bytes",
          {},
          `${100 * gibibyte}-${(0.5 * gibibyte) / 15}x${wide.hours(24)}`,
        ),
      ],
      silentAt: [60, 8 * 60, 12 * 60],
    },
  },
  buildConditionCase({
    alert: "GatehouseDiskSpaceLow",
    severity: "critical",
    type: "DiskSpaceSufficient",
    reason: "Low",
    forMinutes: 5,
    others: [buildSample("gatehouse_node_disk_free_bytes", {}, steady(3 * gibibyte))],
    summary: `The data disk of the node behind ${who} has 3GiB left: Low.`,
  }),
  {
    alert: "GatehouseDiskSpaceLow",
    severity: "warning",
    of: "AtMaxSize",
    series: [...buildWrong("DiskSpaceSufficient", "AtMaxSize", { from: 10, to: 100, end: 130 }), roomyDisk],
    silentAt: [9, 69],
    firesAt: 71,
    resolvedAt: 101,
    summary: `The data disk of the node behind ${who} has 60GiB left, and is full within 4 days or can't grow (AtMaxSize).`,
    nearMiss: {
      series: [...buildWrong("DiskSpaceSufficient", "ResizeFailed", { from: 10, to: 69, end: 130 }), roomyDisk],
      silentAt: [69, 71, 129],
    },
  },
];
