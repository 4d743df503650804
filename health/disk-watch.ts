import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { readDiskSpace, type DiskSpace } from "#daemon/files/disk-space.ts";
import { createFileDeadline, HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { pause } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import { createSampleGauge } from "#status/charts.ts";
import type { ConditionReport } from "#status/condition.ts";
import { forecastDisk, rememberDiskUsage, type DiskHistory, type DiskForecast } from "./disk-forecast.ts";

export type DiskWatchOptions = DiskLimits &
  Readonly<{
    forecastAfterSeconds: number;
    fileTimeoutMs: number;
    intervalMs: number;
    signal: AbortSignal;
  }>;

export type DiskWatchDependencies = Readonly<{
  /** The data directory; undefined until known. */
  dataPath: () => string | undefined;
  /** Measurements of the disk, retained across restarts of the sidecar. */
  history: Readonly<{ get: () => DiskHistory | undefined; set: (history: DiskHistory) => void }>;
  board: ConditionBoard;
  /** Grows the disk's volume if too little of its bytes is free, and reports the volume's state; absent if it can't grow. Never rejects. */
  grow?: ((freeRatio: number, signal: AbortSignal) => Promise<DiskReport>) | undefined;
  /** Called after each successful check. */
  onCheck: (check: DiskCheck) => void;
  metrics: Registry;
  clock: Clock;
  log: Logger;
  readSpace?: typeof readDiskSpace;
}>;

/** Report on the disk, or on the volume that it is on. */
export type DiskReport = ConditionReport<"DiskSpaceSufficient">;

/** Interval at which a path that is not known yet is requested again. */
const unknownPathMs = 250;

/** Watches the disk with the node's data. Settles when the watch has ended. */
export async function watchDisk(options: DiskWatchOptions, dependencies: DiskWatchDependencies): Promise<void> {
  const { dataPath, grow, board, log, readSpace = readDiskSpace } = dependencies;
  let volume: DiskReport | undefined;
  const metrics = createDiskMetrics(dependencies.metrics);
  const fileDeadline = createFileDeadline(
    { withinMs: options.fileTimeoutMs, signal: options.signal },
    { clock: dependencies.clock, onBack: () => undefined },
  );
  const polling = pollCheck(
    {
      name: "disk",
      what: "The node's disk check",
      types: ["DiskSpaceSufficient"],
      failed: () => metrics.observe(undefined, undefined),
      intervalMs: options.intervalMs,
      signal: options.signal,
    },
    async (signal) => {
      let path = dataPath();
      while (path === undefined && !signal.aborted) {
        await pause(unknownPathMs, signal);
        path = dataPath();
      }
      if (path === undefined) return;
      const found = await readDisk(path, fileDeadline, readSpace);
      if (typeof found === "string") {
        metrics.observe(undefined, undefined);
        board.set({ type: "DiskSpaceSufficient", status: "Unknown", reason: "ReadFailed", message: found });
        return;
      }
      dependencies.onCheck(found);
      const history = remember(found, dependencies);
      const forecast = forecastDisk(history, found.freeBytes, options.forecastAfterSeconds);
      metrics.observe(found, forecast?.fullInSeconds);
      const disk = deriveDiskCondition(found, forecast, options);
      board.set(addVolume(disk, volume));
      if (grow === undefined) return;
      // A lack of inodes alone doesn't make a volume grow, because a volume never shrinks again.
      volume = await grow(found.freeBytesRatio, signal);
      if (!signal.aborted) board.set(addVolume(disk, volume));
    },
    { board, log },
  );
  await polling.ended;
}

export function createDiskMetrics(registry: Registry) {
  const gauge = (name: string, help: string) =>
    createSampleGauge({ name: `gatehouse_node_disk_${name}`, help, registry });
  const used = gauge("used_bytes", "Used bytes of the disk that holds the node's data.");
  const free = gauge("free_bytes", "Free bytes of the disk that holds the node's data.");
  const fullIn = gauge(
    "full_in_seconds",
    "Forecast time until that disk is full, from the last day's trend; absent while it is not filling or observations are too few.",
  );
  return {
    observe: (check: DiskCheck | undefined, fullInSeconds: number | undefined) => {
      used.set(check?.usedBytes);
      free.set(check?.freeBytes);
      fullIn.set(fullInSeconds);
    },
  };
}

function remember({ path, usedBytes }: DiskCheck, { history, clock }: DiskWatchDependencies): DiskHistory {
  const before = history.get();
  const now = rememberDiskUsage(before, path, { atMs: clock.wallMs(), usedBytes });
  if (before?.uses.at(-1)?.atMs !== now.uses.at(-1)?.atMs) history.set(now);
  return now;
}

async function readDisk(
  path: string,
  fileDeadline: FileDeadline,
  readSpace: typeof readDiskSpace,
): Promise<DiskCheck | string> {
  try {
    return { path, ...(await fileDeadline.call(`checking the disk of ${path}`, () => readSpace(path))) };
  } catch (error) {
    if (error instanceof HangingFileSystem) return `${error.message}.`;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return `The node's data directory ${path} can't be read (${code}); set node.dataPath, or mount it in the sidecar.`;
  }
}

export type DiskCheck = DiskSpace & Readonly<{ path: string }>;

type DiskLimits = Readonly<{
  /** Min free share of the disk, applied to both bytes and inodes. */
  freeRatio: number;
  /** A forecast that the disk will be full sooner than this is a fault; 0: forecasts are never a fault. */
  fullWithinSeconds: number;
}>;

/** Determines whether a disk has enough space, now and by the forecast. Pure function. */
export function deriveDiskCondition(
  { path, freeBytes, freeBytesRatio, freeFilesRatio, freeRatio }: DiskCheck,
  forecast: DiskForecast | undefined,
  limits: DiskLimits,
): DiskReport {
  const type = "DiskSpaceSufficient";
  const files =
    freeFilesRatio < limits.freeRatio ? ` ${formatPercent(freeFilesRatio)} of its inodes are free (df -i).` : "";
  const free = `${(freeBytes / 2 ** 30).toFixed(1)} GiB (${formatPercent(freeBytesRatio)}) are free at ${path}.${files}`;
  const slope =
    forecast === undefined
      ? ""
      : ` At the rate of the last ${formatDuration(forecast.seenSeconds)}, it will be full in ${formatDuration(forecast.fullInSeconds)}.`;
  const advice = " Expand the disk, or check that auto-pruning is on and advances.";
  if (freeRatio < limits.freeRatio) {
    return { type, status: "False", reason: "Low", message: `${free}${slope}${advice}` };
  }
  if (forecast !== undefined && forecast.fullInSeconds < limits.fullWithinSeconds) {
    return { type, status: "False", reason: "FullSoon", message: `${free}${slope}${advice}` };
  }
  return { type, status: "True", reason: "Sufficient", message: `${free}${slope}` };
}

/** Combines the reports on the disk and its volume. A full disk is more urgent than a volume that can't grow. Pure function. */
function addVolume(disk: DiskReport, volume: DiskReport | undefined): DiskReport {
  if (volume === undefined) return disk;
  const [first, second] = disk.status === "False" || volume.reason === "Sufficient" ? [disk, volume] : [volume, disk];
  return { ...first, message: `${first.message} ${second.message}` };
}

function formatPercent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)} %`;
}

function formatDuration(seconds: number): string {
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} hours` : `${(seconds / 86_400).toFixed(1)} days`;
}
