import type { Clock } from "#daemon/clock.ts";
import type { Traffic } from "#gateway/observe/meter.ts";
import type { RpcState } from "#health/rpc-state.ts";
import type { Charts } from "#status/charts.ts";
import { listCounts, computeRates, sumTotals, type TrafficRates } from "./traffic-rates.ts";

export const sampleEveryMs = 5_000;

/** Ranges of the history; each retains every `every`th sample. */
const ranges = [
  { name: "10 minutes", every: 1 },
  { name: "24 hours", every: 144 },
] as const;

/** Steps in a range; one more sample than this is retained. */
const steps = 120;

/** Number of samples from which the rates for the last minute are computed. */
const samplesPerMinute = 60_000 / sampleEveryMs;

/** Sources of the history; none of them queries the node. */
export type HistorySources = Readonly<{
  clock: Pick<Clock, "wallMs" | "monotonicMs">;
  health: () => RpcState;
  charts: Charts;
  traffic: () => Promise<Traffic>;
  /** Age from which pruning data no longer counts as current. */
  pruningOldAfterMs: number;
}>;

/** The node's last ten minutes and last day, for the page. Kept in memory, so it is empty after a restart. */
export type History = Readonly<{
  sample: () => Promise<void>;
  ranges: () => readonly Readonly<{ name: string; spanMs: number; columns: Columns }>[];
  traffic: () => TrafficRates | undefined;
}>;

export function createHistory(sources: HistorySources): History {
  const kept = ranges.map(({ name, every }) => ({ name, every, samples: [] as Sample[] }));
  const moments: Readonly<{ counts: ReturnType<typeof listCounts>; atMs: number }>[] = [];
  let latestTraffic: Traffic | undefined;
  let sampleCount = 0;
  return {
    sample: async () => {
      latestTraffic = await sources.traffic();
      const sample = takeSample(sources, latestTraffic);
      for (const { every, samples } of kept) {
        if (sampleCount % every !== 0) continue;
        samples.push(sample);
        if (samples.length > steps + 1) samples.shift();
      }
      moments.push({ counts: listCounts(latestTraffic), atMs: sources.clock.monotonicMs() });
      if (moments.length > samplesPerMinute + 1) moments.shift();
      sampleCount += 1;
    },
    ranges: () =>
      kept.map(({ name, every, samples }) => ({
        name,
        spanMs: every * sampleEveryMs * steps,
        columns: buildColumns(samples),
      })),
    traffic: () => {
      const [first, last] = [moments[0], moments.at(-1)];
      if (latestTraffic === undefined || first === undefined || last === undefined || first === last) return undefined;
      return computeRates(latestTraffic, first.counts, last.atMs - first.atMs);
    },
  };
}

function takeSample({ clock, health, charts, pruningOldAfterMs }: HistorySources, traffic: Traffic): Sample {
  const atMs = clock.wallMs();
  const { height, latencyMs, failure, answeredAtMs } = health();
  const isResponding = failure === undefined && answeredAtMs !== undefined;
  const [prunableBlock, prunedBlock] = [charts.prunable.list().at(-1), charts.pruned.list().at(-1)];
  const isKnown =
    prunedBlock !== undefined && prunableBlock !== undefined && atMs - prunedBlock.atMs <= pruningOldAfterMs;
  return {
    atMs,
    monotonicMs: clock.monotonicMs(),
    height: isResponding ? height : undefined,
    latencyMs: isResponding ? latencyMs : undefined,
    backlog: isKnown ? Math.max(0, prunableBlock.value - prunedBlock.value) : undefined,
    ...sumTotals(traffic),
  };
}

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
type Columns = Readonly<{
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
