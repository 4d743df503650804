/** Used bytes of a disk at a time (wall clock). */
export type DiskUse = Readonly<{ atMs: number; usedBytes: number }>;

/** Measured uses of one path's disk, oldest first; kept over restarts of the sidecar. */
export type DiskHistory = Readonly<{ path: string; uses: readonly DiskUse[] }>;

/** Time until a disk is full, and the time over which it was measured for that. */
export type DiskForecast = Readonly<{ fullInSeconds: number; seenSeconds: number }>;

/** A day, one value in ten minutes. */
const keptMs = 86_400_000;
const usesEveryMs = 600_000;

/**
 * Adds what was seen now. Values closer together than ten minutes, older than a day, of another path, or of times that are still to come
 * (the clock was put back) are left out. Pure.
 */
export function rememberDiskUse(before: DiskHistory | undefined, path: string, now: DiskUse): DiskHistory {
  const uses = (before?.path === path ? before.uses : []).filter(
    ({ atMs }) => atMs <= now.atMs && now.atMs - atMs <= keptMs,
  );
  const last = uses.at(-1);
  return { path, uses: last !== undefined && now.atMs - last.atMs < usesEveryMs ? uses : [...uses, now] };
}

/**
 * Predicts when a disk will be full at the slope of what was seen of it (least squares, as PromQL's `predict_linear`). Undefined when it does
 * not fill, or was not seen for `minimumSeconds` yet: the slope of some minutes says nothing. Pure.
 */
export function forecastDisk(
  { uses }: DiskHistory,
  freeBytes: number,
  minimumSeconds: number,
): DiskForecast | undefined {
  const first = uses[0];
  const last = uses.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const seenSeconds = (last.atMs - first.atMs) / 1_000;
  if (seenSeconds <= 0 || seenSeconds < minimumSeconds) return undefined;
  const bytesPerSecond = computeSlope(uses.map(({ atMs, usedBytes }) => [(atMs - first.atMs) / 1_000, usedBytes]));
  return bytesPerSecond <= 0 ? undefined : { fullInSeconds: freeBytes / bytesPerSecond, seenSeconds };
}

function computeSlope(points: readonly (readonly [x: number, y: number])[]): number {
  const [meanX, meanY] = [computeMean(points.map(([x]) => x)), computeMean(points.map(([, y]) => y))];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

function computeMean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
