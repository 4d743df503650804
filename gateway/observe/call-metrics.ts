import { randomUUID } from "node:crypto";
import { Counter, type Registry, Histogram } from "prom-client";
import { readTraceId } from "#daemon/http/request-trace.ts";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { PolicySource } from "../policy.ts";
import { type CallOutcome, type CompletedCall, limitNames, type LimitName, type Meter, type Traffic } from "./meter.ts";

const durationBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** Max series per metric. Labels come from the catalogue and the settings, so in practice this limit is never reached. */
const seriesLimit = 10_000;

/**
 * Counts and times calls in Prometheus metrics, and reports each to `logCall`. Labels come from the catalogue and the settings, never from a
 * request.
 */
export function createPrometheusMeter(
  metrics: Registry,
  logCall: (ended: CompletedCall, count: number) => void = () => undefined,
): Meter & Readonly<{ completed: () => number; traffic: () => Promise<Traffic> }> {
  const calls = createDurationHistogram(
    {
      name: "gatehouse_gateway_call_duration_seconds",
      help: "Time from a call's arrival to its response, by catalogue method, tier and outcome.",
      labelNames: ["method", "tier", "outcome"],
      buckets: durationBuckets,
    },
    metrics,
  );
  const node = createDurationHistogram(
    {
      name: "gatehouse_gateway_node_duration_seconds",
      help: "Time from querying the node to the end of its response, by catalogue method; shared and cached reads are not counted.",
      labelNames: ["method"],
      buckets: durationBuckets,
    },
    metrics,
  );
  const rejections = new Counter<"limit" | "tier">({
    name: "gatehouse_gateway_limited_total",
    help: "Calls and connections rejected by a limit, by limit and tier.",
    labelNames: ["limit", "tier"],
    registers: [metrics],
  });
  const countedTiers = new Set<string>();
  // A counter whose first sample is its first event shows no increase, so a tier's counters start at zero with its first call.
  const initializeAtZero = (tier: string) => {
    if (!countedTiers.has(tier)) for (const limit of limitNames) rejections.inc({ limit, tier }, 0);
    countedTiers.add(tier);
  };
  /** Series by outcome, tier and method: three lookups with existing strings cost less than one lookup with a newly built string. */
  const callSeries = new Map<CallOutcome, Map<string, Map<string, CallSeries>>>();
  const allSeries: CallSeries[] = [];
  countReads(metrics, allSeries);
  const nodeSeries = new Map<string, DurationSeries>();
  return {
    call: (ended, count = 1) => {
      const { method, tier, outcome, seconds, sampledTraceId } = ended;
      let series = callSeries.get(outcome)?.get(tier)?.get(method);
      if (series === undefined && allSeries.length < seriesLimit) {
        series = { ...calls({ method, tier, outcome }), method, tier, outcome };
        allSeries.push(series);
        initializeAtZero(tier);
        const byTier = callSeries.get(outcome) ?? new Map<string, Map<string, CallSeries>>();
        const byMethod = byTier.get(tier) ?? new Map<string, CallSeries>();
        callSeries.set(outcome, byTier.set(tier, byMethod.set(method, series)));
      }
      series?.observe(seconds, sampledTraceId, count);
      logCall(ended, count);
    },
    node: (method, seconds, sampledTraceId, count) => {
      let series = nodeSeries.get(method);
      if (series === undefined && nodeSeries.size < seriesLimit) {
        series = node({ method });
        nodeSeries.set(method, series);
      }
      series?.observe(seconds, sampledTraceId, count);
    },
    limited: (limit, tier) => rejections.inc({ limit, tier }),
    completed: () => allSeries.reduce((sum, { count }) => sum + count(), 0),
    traffic: async () => ({
      calls: allSeries.map(({ method, tier, outcome, count }) => ({ method, tier, outcome, count: count() })),
      limited: (await rejections.get()).values
        .filter(({ value }) => value > 0)
        .map(({ labels: { limit, tier }, value }) => ({ limit: limit as LimitName, tier: String(tier), count: value })),
    }),
  };
}

type CallSeries = DurationSeries & Readonly<{ method: string; tier: string; outcome: CallOutcome }>;

/**
 * Creates the policy's access log: a share of the calls, plus slow calls up to a limit, because clients can make any number of slow calls.
 * It never logs parameters.
 */
export function createAccessLog(
  policy: PolicySource,
  { log, random }: Readonly<{ log: Logger; random: () => number }>,
): (ended: CompletedCall, count: number) => void {
  const lines = createBoundedLog(log);
  return (ended, count) => {
    const { sampleRatio, slowMs } = policy().settings.accessLog;
    const isSlow = slowMs > 0 && ended.seconds * 1_000 >= slowMs;
    if (!isSlow && sampleRatio === 0) return;
    for (let call = 0; call < count; call += 1) {
      if (isSlow) lines.warn({ event: "call-slow", ...buildEntry(ended) }, "slow call");
      else if (random() < sampleRatio) log.info({ event: "call", ...buildEntry(ended) }, "call");
    }
  };
}

/** Builds the entry for a call. The trace id is read only here, since few calls are logged. */
function buildEntry({ method, tier, outcome, seconds, requestId, traceContext }: CompletedCall) {
  const traceId = traceContext && readTraceId(traceContext);
  const ms = Math.round(seconds * 1e6) / 1_000;
  return { method, tier, outcome, ms, requestId: requestId ?? randomUUID(), traceId };
}

/** Counts reads by source and method. The sums are computed at scrape time, so that no call spends time on them. */
function countReads(metrics: Registry, series: readonly CallSeries[]): void {
  metrics.registerMetric(
    new Counter({
      name: "gatehouse_gateway_reads_total",
      help: "Reads served from the cache, by sharing an identical in-flight call (coalesced), and by the node, by method.",
      labelNames: ["method", "source"],
      registers: [],
      collect() {
        this.reset();
        for (const { method, outcome, count } of series) {
          if (outcome === "cache" || outcome === "coalesced" || outcome === "node") {
            this.inc({ method, source: outcome }, count());
          }
        }
      },
    }),
  );
}

type DurationSeries = Readonly<{
  /** Records a duration, `count` times; `traceId` is the trace that contains it, if there is one. */
  observe: (seconds: number, traceId?: string, count?: number) => void;
  count: () => number;
}>;

type DurationHistogramOptions = Readonly<{
  name: string;
  help: string;
  labelNames: readonly string[];
  /** Upper bounds in seconds, in ascending order. */
  buckets: readonly number[];
}>;

type Recorded = {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Float64Array;
  sum: number;
  /** The latest traced duration in each bucket, in prom-client's format; undefined until a duration has been traced. */
  exemplars: (Exemplar | undefined)[] | undefined;
};

type Exemplar = Readonly<{ labelSet: Readonly<{ trace_id: string }>; value: number; timestamp: number }>;

/**
 * Registers a histogram whose observations take less than a tenth of a microsecond: counters are updated in place, and formatted at scrape
 * time. Returns the function that creates a series; callers keep their series, so that no call has to look up labels.
 */
export function createDurationHistogram(
  options: DurationHistogramOptions,
  metrics: Registry,
): (labels: Readonly<Record<string, string>>) => DurationSeries {
  const { name, help, buckets } = options;
  const all: Recorded[] = [];
  const histogram = new Histogram({
    name,
    help,
    labelNames: [...options.labelNames],
    buckets: [...buckets],
    registers: [metrics],
  });
  // Relies on prom-client internals: the registry renders its text through this object, whereas the histogram's own `get` spreads the
  // shared labels over its values.
  Object.assign(histogram, {
    getForPromString: async () => ({
      name,
      help,
      type: "histogram",
      aggregator: "sum",
      values: all.flatMap((one) => listValues(name, buckets, one)),
    }),
  });
  return (labels) => {
    const counts = new Float64Array(buckets.length + 1);
    const recorded: Recorded = { labels, counts, sum: 0, exemplars: undefined };
    all.push(recorded);
    return {
      observe: (seconds, traceId, count = 1) => {
        let bucket = 0;
        while (bucket < buckets.length && seconds > (buckets[bucket] ?? 0)) bucket += 1;
        recorded.counts[bucket] = (recorded.counts[bucket] ?? 0) + count;
        recorded.sum += seconds * count;
        if (traceId === undefined) return;
        recorded.exemplars ??= [];
        recorded.exemplars[bucket] = {
          labelSet: { trace_id: traceId },
          value: seconds,
          timestamp: Date.now() / 1_000,
        };
      },
      count: () => recorded.counts.reduce((sum, inBucket) => sum + inBucket, 0),
    };
  };
}

function listValues(name: string, buckets: readonly number[], { labels, counts, sum, exemplars }: Recorded) {
  let count = 0;
  const values = [...counts].map((inBucket, slot) => {
    count += inBucket;
    const le: string | number = buckets[slot] ?? "+Inf";
    return {
      metricName: `${name}_bucket`,
      labels: { le },
      sharedLabels: labels,
      value: count,
      exemplar: exemplars?.[slot] ?? null,
    };
  });
  return [
    ...values,
    { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count },
  ];
}
