import type { DiskCheck } from "#health/disk-watch.ts";
import type { RpcState } from "#health/rpc-state.ts";
import type { TrafficRates } from "./traffic-rates.ts";

/** A figure, the time when it was measured (ISO 8601), and whether it is too old to count as current. */
type Dated<Value extends object> = Value & Readonly<{ at: string; old: boolean }>;

/** The strip of figures on the page; unknown figures are absent. */
export type Figures = Readonly<{
  /** `at`: when this block was first seen. */
  lastBlock?: Dated<Readonly<{ height: number }>>;
  rpc?: Dated<Readonly<{ latencyMs?: number; failure?: string }>>;
  gateway?: Dated<Readonly<{ requestsPerSecond: number; errorRatio: number; limitedPerSecond: number }>>;
  restarts?: Readonly<{ remaining: number; perHour: number }>;
  disk?: Dated<Readonly<{ freeRatio: number; freeBytes: number }>>;
}>;

/** Latest observations from which the figures are derived; undefined where there is none. */
export type FigureSources = Readonly<{
  health: RpcState;
  traffic: TrafficRates | undefined;
  restarts: Readonly<{ used: number; perHour: number }> | undefined;
  disk: Readonly<{ check: Pick<DiskCheck, "freeBytes" | "freeBytesRatio">; atMs: number }> | undefined;
}>;

/** Ages from which a figure counts as old: more than two check intervals of its source. */
export type FigureAgeLimits = Readonly<{
  nowMs: number;
  monotonicMs: number;
  blockOldAfterMs: number;
  diskOldAfterMs: number;
}>;

const format = (atMs: number) => new Date(atMs).toISOString();

export function buildFigures(
  { health, traffic, restarts, disk }: FigureSources,
  { nowMs, monotonicMs, blockOldAfterMs, diskOldAfterMs }: FigureAgeLimits,
): Figures {
  const now = { at: format(nowMs), old: false };
  const { height, heightSinceMs, latencyMs, failure, answeredAtMs } = health;
  const ageMs = monotonicMs - (heightSinceMs ?? 0);
  const isBlockOld = failure !== undefined || ageMs > blockOldAfterMs;
  const { requests, errors, limited } = traffic?.total ?? { requests: 0, errors: 0, limited: 0 };
  return {
    ...(height !== undefined &&
      heightSinceMs !== undefined && { lastBlock: { height, at: format(nowMs - ageMs), old: isBlockOld } }),
    ...(failure !== undefined && { rpc: { failure: failure.reason, ...now } }),
    ...(failure === undefined &&
      latencyMs !== undefined &&
      answeredAtMs !== undefined && { rpc: { latencyMs, at: format(answeredAtMs), old: false } }),
    ...(traffic !== undefined && {
      gateway: {
        requestsPerSecond: requests,
        errorRatio: requests === 0 ? 0 : errors / requests,
        limitedPerSecond: limited,
        ...now,
      },
    }),
    ...(restarts !== undefined && {
      restarts: { remaining: Math.max(0, restarts.perHour - restarts.used), perHour: restarts.perHour },
    }),
    ...(disk !== undefined && {
      disk: {
        freeRatio: disk.check.freeBytesRatio,
        freeBytes: disk.check.freeBytes,
        at: format(disk.atMs),
        old: nowMs - disk.atMs > diskOldAfterMs,
      },
    }),
  };
}
