import type { CallOutcome, LimitName } from "#gateway/observe/meter.ts";
import type { Alert, Recording, RuleGroup } from "../alert.ts";
import { series } from "../series.ts";

/** Fraction of calls that may fail, and fraction that may take longer than {@link slowAfterSeconds}. */
const errorBudget = 0.001;
const latencyBudget = 0.01;
/** One of the histogram's bucket bounds; not an integer, because Prometheus 3 formats integers differently. */
const slowAfterSeconds = "0.5";
/** Min number of failed or slow calls in the longer window; with fewer, no alert fires, whatever their fraction. */
const callsMin = 10;

const windows = ["5m", "30m", "1h", "6h"] as const;
type Window = (typeof windows)[number];

/** Outcomes caused by the caller: the objectives count them neither as good nor as bad. */
const callersOwn = ["refused", "limited", "cancelled"] as const satisfies readonly CallOutcome[];
const failed = ["failed", "overload"] as const satisfies readonly CallOutcome[];

const without = "sum without (method, tier, outcome)";
const counts = "gatehouse_gateway_call_duration_seconds_count";
const allCalls = series(counts, { outcome: { notIn: callersOwn } });
const failedCalls = series(counts, { outcome: { in: failed } });
const servedCalls = series(counts, { outcome: { notIn: [...callersOwn, ...failed] } });
const quickCalls = series("gatehouse_gateway_call_duration_seconds_bucket", {
  le: slowAfterSeconds,
  outcome: { notIn: [...callersOwn, ...failed] },
});

const errorRatio = (window: Window) => `gatehouse:gateway_call_errors:ratio_rate${window}` as const;
const slowRatio = (window: Window) => `gatehouse:gateway_call_slow:ratio_rate${window}` as const;

const recordings: readonly Recording[] = windows.flatMap((window): readonly Recording[] => [
  {
    record: errorRatio(window),
    expr: `${without} (rate(${failedCalls}[${window}])) / ${without} (rate(${allCalls}[${window}]))`,
  },
  {
    record: slowRatio(window),
    expr: `1 - sum without (method, tier, outcome, le) (rate(${quickCalls}[${window}])) / ${without} (rate(${servedCalls}[${window}]))`,
  },
]);

type Burn = Readonly<{ short: Window; long: Window; factor: number }>;
/** A month's budget spent in two days, and in five days; the factors are from the Google SRE workbook. */
const fast: Burn = { short: "5m", long: "1h", factor: 14.4 };
const slow: Burn = { short: "30m", long: "6h", factor: 6 };

function buildErrorBurnQuery({ short, long, factor }: Burn): string {
  const limit = Number((factor * errorBudget).toFixed(6));
  const enough = `${without} (increase(${failedCalls}[${long}])) >= ${callsMin}`;
  return `${errorRatio(short)} > ${limit} and ${errorRatio(long)} > ${limit} and ${enough}`;
}

function buildLatencyBurnQuery({ short, long, factor }: Burn): string {
  const limit = Number((factor * latencyBudget).toFixed(6));
  const slowCalls = `${slowRatio(long)} * ${without} (increase(${servedCalls}[${long}])) >= ${callsMin}`;
  return `${slowRatio(short)} > ${limit} and ${slowRatio(long)} > ${limit} and ${slowCalls}`;
}

const budgets: readonly Alert[] = [
  {
    name: "GatehouseGatewayErrors",
    expr: buildErrorBurnQuery(fast),
    for: "2m",
    severity: "critical",
    summary: "{{ $value | humanizePercentage }} of calls to {{ $labels.instance }} failed in the last five minutes.",
    description:
      "At this rate, the monthly error budget is exhausted within two days. Check whether the node of {{ $labels.instance }} responds.",
  },
  {
    name: "GatehouseGatewayErrors",
    expr: buildErrorBurnQuery(slow),
    for: "15m",
    severity: "warning",
    summary:
      "{{ $value | humanizePercentage }} of calls to {{ $labels.instance }} failed in the last half hour, and for hours before.",
    description:
      "At this rate, the monthly error budget is exhausted within five days. Check which methods of {{ $labels.instance }} fail.",
  },
  {
    name: "GatehouseGatewayLatency",
    expr: buildLatencyBurnQuery(fast),
    for: "2m",
    severity: "critical",
    summary: `{{ $value | humanizePercentage }} of calls to {{ $labels.instance }} took longer than ${slowAfterSeconds} s in the last five minutes.`,
    description:
      "Callers of {{ $labels.instance }} see high latency. Check whether the node or the gateway itself is slow (GatewayResponsive).",
  },
  {
    name: "GatehouseGatewayLatency",
    expr: buildLatencyBurnQuery(slow),
    for: "15m",
    severity: "warning",
    summary: `{{ $value | humanizePercentage }} of calls to {{ $labels.instance }} took longer than ${slowAfterSeconds} s in the last half hour, and for hours before.`,
    description: "Callers of {{ $labels.instance }} see high latency. Check which methods are slow.",
  },
];

const overloadLimits = ["overload", "memory"] as const satisfies readonly LimitName[];
const callLimits = ["rate", "concurrency"] as const satisfies readonly LimitName[];

const limits: readonly Alert[] = [
  {
    name: "GatehouseGatewayLinkLost",
    expr: `${series("gatehouse_gateway_upstream_connected")} == 0 unless on (job, instance) ${series("gatehouse_node_up")} == 0`,
    for: "3m",
    severity: "warning",
    summary: "The gateway {{ $labels.instance }} has no WebSocket connection to its node ({{ $value }} links).",
    description:
      "Subscribers of {{ $labels.instance }} get no new events. The node responds over HTTP, so check its WebSocket port.",
  },
  {
    name: "GatehouseLimiterSaturated",
    expr:
      `sum without (limit) (rate(${series("gatehouse_gateway_limited_total", { limit: { in: callLimits } })}[5m]))` +
      ` / sum without (method, outcome) (rate(${series(counts)}[5m])) > 0.25`,
    for: "15m",
    severity: "warning",
    summary:
      "{{ $value | humanizePercentage }} of calls in tier {{ $labels.tier }} at {{ $labels.instance }} hit a limit.",
    description:
      "Callers in tier {{ $labels.tier }} exceed its limits. Find the caller that sends the most, then raise the tier's limits or give that caller a key.",
  },
  {
    name: "GatehouseOverloaded",
    expr: `sum without (limit, tier) (rate(${series("gatehouse_gateway_limited_total", { limit: { in: overloadLimits } })}[5m])) > 0`,
    for: "10m",
    severity: "warning",
    summary:
      '{{ $value | printf "%.1f" }} calls per second are rejected by {{ $labels.instance }} because it is overloaded.',
    description: "The process {{ $labels.instance }} is out of CPU or memory. Give it more, or spread the load.",
  },
];

/** SLOs for the gateway, and alerts on its limits. */
export const gatewayRules: RuleGroup = { name: "gatehouse-gateway", recordings, alerts: [...budgets, ...limits] };
