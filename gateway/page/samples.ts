/** One sample of the node and its gateway; unknown values are undefined. */
export type Sample = Readonly<{
  atMs: number;
  monotonicMs: number;
  height: number | undefined;
  latencyMs: number | undefined;
  /** Number of versions that could be pruned but have not been yet. */
  backlog: number | undefined;
  calls: number;
  errors: number;
  limited: number;
}>;

/** Values for each chart, at the same points in time; null means unknown. */
export type Columns = Readonly<{
  atMs: readonly number[];
  blocksPerMinute: readonly (number | null)[];
  rpcMs: readonly (number | null)[];
  requestsPerSecond: readonly (number | null)[];
  errorsPerSecond: readonly (number | null)[];
  pruneBacklog: readonly (number | null)[];
}>;

const minuteMs = 60_000;
/** Min time span over which a block rate is computed. */
const minMs = 10_000;

/** Computes rates from samples, which must be ordered oldest first. Pure function. */
export function buildColumns(samples: readonly Sample[]): Columns {
  const perSecond = (count: (sample: Sample) => number) =>
    samples.map((sample, index) => {
      const previousSample = samples[index - 1];
      if (previousSample === undefined) return null;
      return limitDigits(
        ((count(sample) - count(previousSample)) * 1_000) /
          Math.max(1, sample.monotonicMs - previousSample.monotonicMs),
      );
    });
  return {
    atMs: samples.map(({ atMs }) => Math.round(atMs)),
    blocksPerMinute: samples.map((_, index) => computeBlockRate(samples, index)),
    rpcMs: samples.map(({ latencyMs }) => (latencyMs === undefined ? null : limitDigits(latencyMs))),
    requestsPerSecond: perSecond(({ calls }) => calls),
    errorsPerSecond: perSecond(({ errors }) => errors),
    pruneBacklog: samples.map(({ backlog }) => backlog ?? null),
  };
}

/** Computes the rate of new blocks over the last minute, or over the most recent part of it in which the node responded to every sample. */
function computeBlockRate(samples: readonly Sample[], index: number): number | null {
  const last = samples[index];
  if (last?.height === undefined) return null;
  let first = last;
  for (let position = index - 1; position >= 0; position -= 1) {
    const sample = samples[position];
    if (sample?.height === undefined) break;
    const isNear = last.monotonicMs - sample.monotonicMs <= minuteMs;
    // Samples may be more than a minute apart, in which case only the previous one is available.
    if (!isNear && first !== last) break;
    first = sample;
    if (!isNear) break;
  }
  const spanMs = last.monotonicMs - first.monotonicMs;
  if (spanMs < minMs || first.height === undefined) return null;
  return limitDigits(Math.max(0, ((last.height - first.height) * minuteMs) / spanMs));
}

function limitDigits(value: number): number {
  return Number(value.toPrecision(3));
}
