/** Used bytes of a disk at a time (wall clock). */
export type DiskUse = Readonly<{ atMs: number; usedBytes: number }>;

/** Measured uses of one path's disk, oldest first; retained across restarts of the sidecar. */
export type DiskHistory = Readonly<{ path: string; uses: readonly DiskUse[] }>;

/** Time until a disk is full, and the measured period that this is based on. */
export type DiskForecast = Readonly<{ fullInSeconds: number; seenSeconds: number }>;

/** A day, one value per ten minutes. */
const keptMs = 86_400_000;
const usesEveryMs = 600_000;

/**
 * Adds the current measurement. Drops values less than ten minutes apart, older than a day, of another path, or with future timestamps (the
 * clock was set back). Pure.
 */
export function rememberDiskUse(before: DiskHistory | undefined, path: string, now: DiskUse): DiskHistory {
  const uses = (before?.path === path ? before.uses : []).filter(
    ({ atMs }) => atMs <= now.atMs && now.atMs - atMs <= keptMs,
  );
  const last = uses.at(-1);
  return { path, uses: last !== undefined && now.atMs - last.atMs < usesEveryMs ? uses : [...uses, now] };
}

/**
 * Predicts when a disk will be full from the slope of its measurements (least squares, like PromQL's `predict_linear`). Undefined if it is
 * not filling, or has not been measured for `minimumSeconds` yet: the slope of a few minutes means nothing. Pure.
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
