import { buildPhases, buildSample, target, type AlertCase, type InputSeries } from "./alert-case.ts";

const who = target.instance;
const method = "eth_call";
const tier = "public";
const calls = (outcome: string, values: string): InputSeries =>
  buildSample("gatehouse_gateway_call_duration_seconds_count", { method, tier, outcome }, values);
const quick = (values: string): InputSeries =>
  buildSample("gatehouse_gateway_call_duration_seconds_bucket", { method, tier, outcome: "node", le: "0.5" }, values);
const limited = (limit: string, values: string): InputSeries =>
  buildSample("gatehouse_gateway_limited_total", { limit, tier }, values);

/** Builds a counter that rises at one rate, at another, and at the first again; spans are in minutes. */
function buildRising(spans: readonly (readonly [perMinute: number, minutes: number])[]): string {
  let from = 0;
  return spans
    .map(([perMinute, minutes]) => {
      const text = `${from}+${perMinute}x${minutes - 1}`;
      from += perMinute * minutes;
      return text;
    })
    .join(" ");
}

const day = 1_440;
const errorsFast = (perMinute: number): InputSeries[] => [
  calls("node", buildRising([[600, 300]])),
  calls(
    "failed",
    buildRising([
      [0, 60],
      [perMinute, 100],
      [0, 140],
    ]),
  ),
];
const errorsSlow = (perMinute: number): InputSeries[] => [
  calls("node", buildRising([[600, day]])),
  calls(
    "failed",
    buildRising([
      [0, 60],
      [perMinute, 500],
      [0, 880],
    ]),
  ),
];
const latency = (slow: number, minutes: number, end: number): InputSeries[] => [
  calls("node", buildRising([[600, end]])),
  quick(
    buildRising([
      [600, 60],
      [600 - slow, minutes],
      [600, end - minutes - 60],
    ]),
  ),
];

export const gatewayCases: readonly AlertCase[] = [
  {
    alert: "GatehouseGatewayErrors",
    severity: "critical",
    // 5 % of the calls fail.
    series: errorsFast(31.578947368421055),
    silentAt: [59, 61],
    firesAt: 120,
    resolvedAt: 170,
    summary: `5% of calls to ${who} failed in the last five minutes.`,
    // 1 % of the calls are slower than this alert's threshold; callers' own errors and a few failed calls don't count.
    nearMiss: { series: [...errorsFast(6), calls("rejected", "0+500x300")], silentAt: [120, 159] },
  },
  {
    alert: "GatehouseGatewayErrors",
    severity: "warning",
    series: errorsSlow(12.244897959183673),
    silentAt: [59, 80],
    firesAt: 420,
    resolvedAt: 640,
    summary: `2% of calls to ${who} failed in the last half hour, and for hours before.`,
    nearMiss: {
      // One call fails at a node that gets few calls.
      series: [calls("node", "0+0.1x1440"), calls("failed", "0x60 1x1380")],
      silentAt: [62, 75, 90, 420],
    },
  },
  {
    alert: "GatehouseGatewayLatency",
    severity: "critical",
    series: latency(150, 100, 300),
    silentAt: [59, 62],
    firesAt: 130,
    resolvedAt: 170,
    summary: `25% of calls to ${who} took longer than 0.5 s in the last five minutes.`,
    nearMiss: { series: latency(60, 100, 300), silentAt: [130, 159] },
  },
  {
    alert: "GatehouseGatewayLatency",
    severity: "warning",
    series: latency(60, 500, day),
    silentAt: [59, 90],
    firesAt: 420,
    resolvedAt: 640,
    summary: `10% of calls to ${who} took longer than 0.5 s in the last half hour, and for hours before.`,
    nearMiss: { series: latency(24, 500, day), silentAt: [420, 559] },
  },
  {
    alert: "GatehouseGatewayLinkLost",
    series: [
      buildSample("gatehouse_gateway_upstream_connected", {}, buildPhases("1", "0")),
      buildSample("gatehouse_node_up", {}, "1x90"),
    ],
    silentAt: [9, 12],
    firesAt: 14,
    summary: `The gateway ${who} has no WebSocket connection to its node (0 links).`,
    nearMiss: {
      series: [
        buildSample("gatehouse_gateway_upstream_connected", {}, buildPhases("1", "0")),
        buildSample("gatehouse_node_up", {}, buildPhases("1", "0")),
      ],
      silentAt: [14, 40],
    },
  },
  {
    alert: "GatehouseRateStoreLost",
    series: [buildSample("gatehouse_gateway_rate_store_connected", {}, buildPhases("1", "0"))],
    silentAt: [9, 14],
    firesAt: 16,
    summary: `The gateway ${who} has no connection to Redis (0 rate stores).`,
    nearMiss: {
      series: [buildSample("gatehouse_gateway_rate_store_connected", {}, "1x90")],
      silentAt: [16, 40],
    },
  },
  {
    alert: "GatehouseLimiterSaturated",
    series: [
      calls("node", "0+60x119"),
      calls(
        "limited",
        buildRising([
          [0, 10],
          [60, 50],
          [0, 60],
        ]),
      ),
      limited(
        "rate",
        buildRising([
          [0, 10],
          [60, 50],
          [0, 60],
        ]),
      ),
    ],
    silentAt: [9, 24],
    firesAt: 40,
    resolvedAt: 70,
    labels: { ...target, tier },
    summary: `50% of calls in tier public at ${who} hit a limit.`,
    nearMiss: {
      series: [calls("node", "0+60x119"), calls("limited", "0+6x119"), limited("rate", "0+6x119")],
      silentAt: [40, 60, 100],
    },
  },
  {
    alert: "GatehouseOverloaded",
    series: [
      limited(
        "overload",
        buildRising([
          [0, 10],
          [120, 50],
          [0, 60],
        ]),
      ),
    ],
    silentAt: [9, 19],
    firesAt: 30,
    resolvedAt: 70,
    summary: `2.0 calls per second are rejected by ${who} because it is overloaded.`,
    // A single burst exceeds the limit; a different limit causes the other rejections.
    nearMiss: {
      series: [limited("overload", "0x10 500x100"), limited("rate", "0+60x110")],
      silentAt: [12, 16, 22, 40],
    },
  },
];
