import { Histogram, type Registry } from "prom-client";

export type DurationSeries = Readonly<{
  /** Records a duration, `count` times; `traceId` is the trace that contains it, if there is one. */
  observe: (seconds: number, traceId?: string, count?: number) => void;
  count: () => number;
}>;

/** A histogram whose observations take less than a tenth of a microsecond: counters are updated in place, and formatted at scrape time. */
export type DurationHistogram = Readonly<{ series: (labels: Readonly<Record<string, string>>) => DurationSeries }>;

export type DurationHistogramOptions = Readonly<{
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

/** Creates a histogram and registers it. Callers keep their series, so that no call has to look up labels. */
export function createDurationHistogram(options: DurationHistogramOptions, metrics: Registry): DurationHistogram {
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
  return {
    series: (labels) => {
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
    },
  };
}

function listValues(name: string, buckets: readonly number[], { labels, counts, sum, exemplars }: Recorded) {
  let count = 0;
  const values = [...counts].map((inBucket, place) => {
    count += inBucket;
    const le: string | number = buckets[place] ?? "+Inf";
    return {
      metricName: `${name}_bucket`,
      labels: { le },
      sharedLabels: labels,
      value: count,
      exemplar: exemplars?.[place] ?? null,
    };
  });
  return [
    ...values,
    { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count },
  ];
}
