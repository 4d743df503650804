/** Used bytes of a disk at a point in time (wall clock). */
export type DiskUsage = Readonly<{ atMs: number; usedBytes: number }>;

/** Measurements of the disk that contains one path, oldest first; retained across restarts of the sidecar. */
export type DiskHistory = Readonly<{ path: string; uses: readonly DiskUsage[] }>;

/** Time until a disk is full, and the measured period on which the forecast is based. */
export type DiskForecast = Readonly<{ fullInSeconds: number; seenSeconds: number }>;

/** The forecast is based on one day, with one value per ten minutes. */
const keptMs = 86_400_000;
const usesEveryMs = 600_000;

/**
 * Adds the current measurement. Drops values that are less than ten minutes apart, older than a day, for another path, or timestamped in
 * the future (if the clock was set back). Pure function.
 */
export function rememberDiskUsage(before: DiskHistory | undefined, path: string, now: DiskUsage): DiskHistory {
  const uses = (before?.path === path ? before.uses : []).filter(
    ({ atMs }) => atMs <= now.atMs && now.atMs - atMs <= keptMs,
  );
  const last = uses.at(-1);
  return { path, uses: last !== undefined && now.atMs - last.atMs < usesEveryMs ? uses : [...uses, now] };
}

/**
 * Predicts when a disk will be full from the slope of its measurements (least squares, like PromQL's `predict_linear`). Returns undefined
 * if the disk is not filling up, or has not been measured for `minimumSeconds` yet: the slope over a few minutes means nothing. Pure
 * function.
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
