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
  restarts?: Readonly<{ left: number; perHour: number }>;
  disk?: Dated<Readonly<{ freeRatio: number; freeBytes: number }>>;
}>;

/** Latest observations from which the figures are derived; undefined where there is none. */
export type FigureSources = Readonly<{
  health: RpcState;
  traffic: TrafficRates | undefined;
  restarts: Readonly<{ used: number; perHour: number }> | undefined;
  disk: Readonly<{ look: Pick<DiskCheck, "freeBytes" | "freeBytesRatio">; atMs: number }> | undefined;
}>;

/** Ages from which a figure counts as old: more than two check intervals of its source. */
export type FigureAgeLimits = Readonly<{
  nowMs: number;
  monotonicMs: number;
  blockOldAfterMs: number;
  diskOldAfterMs: number;
}>;

export function buildFigures({ health, traffic, restarts, disk }: FigureSources, rules: FigureAgeLimits): Figures {
  const { nowMs } = rules;
  const now = new Date(nowMs).toISOString();
  return {
    ...buildBlockFigure(health, rules),
    ...buildRpcFigure(health, now),
    ...(traffic === undefined ? {} : { gateway: { ...buildGatewayFigure(traffic), at: now, old: false } }),
    ...(restarts === undefined
      ? {}
      : { restarts: { left: Math.max(0, restarts.perHour - restarts.used), perHour: restarts.perHour } }),
    ...(disk === undefined ? {} : { disk: buildDiskFigure(disk, rules) }),
  };
}

function buildBlockFigure(
  health: RpcState,
  { nowMs, monotonicMs, blockOldAfterMs }: FigureAgeLimits,
): Pick<Figures, "lastBlock"> {
  const { height, heightSinceMs, failure } = health;
  if (height === undefined || heightSinceMs === undefined) return {};
  const ageMs = monotonicMs - heightSinceMs;
  const old = failure !== undefined || ageMs > blockOldAfterMs;
  return { lastBlock: { height, at: new Date(nowMs - ageMs).toISOString(), old } };
}

function buildRpcFigure({ latencyMs, failure, answeredAtMs }: RpcState, now: string): Pick<Figures, "rpc"> {
  if (failure !== undefined) return { rpc: { failure: failure.reason, at: now, old: false } };
  if (latencyMs === undefined || answeredAtMs === undefined) return {};
  return { rpc: { latencyMs, at: new Date(answeredAtMs).toISOString(), old: false } };
}

function buildGatewayFigure({ total }: TrafficRates) {
  const { requests, errors, limited } = total;
  return { requestsPerSecond: requests, errorRatio: requests === 0 ? 0 : errors / requests, limitedPerSecond: limited };
}

function buildDiskFigure(
  { look, atMs }: NonNullable<FigureSources["disk"]>,
  { nowMs, diskOldAfterMs }: FigureAgeLimits,
) {
  const { freeBytes, freeBytesRatio } = look;
  return { freeRatio: freeBytesRatio, freeBytes, at: new Date(atMs).toISOString(), old: nowMs - atMs > diskOldAfterMs };
}
