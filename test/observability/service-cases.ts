import { buildPhases, buildSample, target, buildUpSample, type AlertCase } from "./alert-case.ts";

const who = target.instance;
const build = (service: string, values: string) =>
  buildSample("gatehouse_build_info", { service, version: "0.1.0", node: "v26" }, values);
/** `up`, Prometheus's own metric, for a target with its service's label. */
const labelled = (name: string, service: string) =>
  `${name}{job="${target.job}",instance="${who}",gatehouse="${service}"}`;
/** A target that can't be scraped has no series. */
const scrapedUntilTrouble = buildPhases("1", "_");

/** Cases of the alerts on processes and their inputs. */
export const serviceCases: readonly AlertCase[] = [
  {
    alert: "GatehouseServiceDown",
    of: "an unresponsive target",
    series: [buildUpSample(buildPhases("1", "0")), build("sidecar", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is down.`,
    nearMiss: {
      series: [buildUpSample(buildPhases("1", "0")), build("devnet", scrapedUntilTrouble)],
      silentAt: [14, 40],
    },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a job without targets",
    series: [buildUpSample(scrapedUntilTrouble), build("sidecar", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    labels: { job: target.job, service: "sidecar" },
    summary: `The sidecar  of job gatehouse is down.`,
    nearMiss: { series: [buildUpSample("1x90"), build("sidecar", scrapedUntilTrouble)], silentAt: [14, 40] },
  },
  {
    alert: "GatehouseServiceDown",
    series: [buildUpSample(buildPhases("1", "0")), build("facilitator", scrapedUntilTrouble)],
    silentAt: [9, 12],
    firesAt: 14,
    labels: { ...target, service: "facilitator" },
    summary: `The facilitator ${who} of job gatehouse is down.`,
    nearMiss: {
      series: [buildUpSample(buildPhases("1", "0", { from: 10, to: 12, end: 90 })), build("facilitator", "1x90")],
      silentAt: [11, 14],
    },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a target that never responded",
    // Prometheus scrapes it for a quarter of an hour before the alert, because a service may start that long after Prometheus.
    series: [[labelled("up", "sidecar"), "0x59 1x30"]],
    silentAt: [3, 16],
    firesAt: 20,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is down.`,
    nearMiss: {
      series: [
        [labelled("up", "devnet"), "0x90"],
        [`up{job="theirs/sidecar",instance="10.0.0.1:80"}`, "0x90"],
      ],
      silentAt: [20, 60, 89],
    },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a target that never responded",
    series: [[labelled("up", "pushgateway"), "0x59 1x30"]],
    silentAt: [3, 16],
    firesAt: 20,
    labels: { ...target, service: "pushgateway" },
    summary: `The pushgateway ${who} of job gatehouse is down.`,
    nearMiss: {
      series: [
        [labelled("up", "devnet"), "0x90"],
        [`up{job="theirs",instance="10.0.0.1:80"}`, "0x90"],
      ],
      silentAt: [20, 60, 89],
    },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a target missing for eight days",
    stepMinutes: 5,
    // The target is missing for longer than Prometheus retains its samples.
    series: [
      [labelled("up", "sidecar"), `1x14 0x${8 * 288} 1x30`],
      [`gatehouse_build_info{job="gatehouse",instance="${who}",gatehouse="sidecar",service="sidecar"}`, "1x14 stale"],
    ],
    silentAt: [70],
    firesAt: 7.5 * 24 * 60,
    resolvedAt: (15 + 8 * 288 + 2) * 5,
    labels: { ...target, service: "sidecar" },
    summary: `The sidecar ${who} of job gatehouse is down.`,
    nearMiss: { series: [[labelled("up", "sidecar"), "1x90"]], silentAt: [40, 300] },
  },
  {
    alert: "GatehouseServiceDown",
    of: "a ledger on a full disk",
    series: [
      build("resource-server", "1x90"),
      buildUpSample("1x90"),
      buildSample("gatehouse_ready_check", { check: "ledger" }, buildPhases("1", "0")),
    ],
    silentAt: [9, 12],
    firesAt: 14,
    labels: { ...target, service: "resource-server" },
    summary: `The resource-server ${who} of job gatehouse is down.`,
    nearMiss: {
      series: [
        build("resource-server", "1x90"),
        buildUpSample("1x90"),
        buildSample("gatehouse_ready_check", { check: "facilitator" }, buildPhases("1", "0")),
      ],
      silentAt: [14, 40],
    },
  },
  {
    alert: "GatehouseClockDrift",
    series: [buildSample("gatehouse_time_seconds", {}, "0+60x9 720+60x49 3600+60x30")],
    silentAt: [9, 19],
    firesAt: 21,
    summary: `The clock of ${who} and Prometheus's clock differ by 2m 0s.`,
    nearMiss: { series: [buildSample("gatehouse_time_seconds", {}, "5+60x90")], silentAt: [21, 60] },
  },
  {
    alert: "GatehouseFileRejected",
    series: [buildSample("gatehouse_file_loaded", { setting: "gateway.policyPath" }, buildPhases("1", "0"))],
    silentAt: [9, 11],
    firesAt: 13,
    labels: { ...target, setting: "gateway.policyPath" },
    summary: `The file of gateway.policyPath at ${who} was rejected (0 of 1); the previous content stays active.`,
    nearMiss: {
      series: [
        buildSample(
          "gatehouse_file_loaded",
          { setting: "gateway.policyPath" },
          buildPhases("1", "0", { from: 10, to: 11, end: 90 }),
        ),
      ],
      silentAt: [11, 13],
    },
  },
];
