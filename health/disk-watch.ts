import { statfs } from "node:fs/promises";
import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { createFileDeadline, HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { pause, poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { createSampleGauge } from "#status/sample-gauge.ts";
import { diskCondition, type DiskLimits, type DiskLook } from "./disk-condition.ts";
import { forecastDisk, rememberDiskUse, type DiskHistory } from "./disk-forecast.ts";

/** How the disk is judged, and how long it has to be seen before a forecast is told. */
export type DiskWatchOptions = DiskLimits &
  Readonly<{
    forecastAfterSeconds: number;
    /** How long the disk's file system may take to answer. */
    fileTimeoutMs: number;
    signal: AbortSignal;
  }>;

export type DiskWatchDependencies = Readonly<{
  /** The data directory; undefined as long as it is not known. */
  dataPath: () => string | undefined;
  /** What was seen of the disk, kept over restarts of the sidecar. */
  history: Readonly<{ get: () => DiskHistory | undefined; set: (history: DiskHistory) => void }>;
  board: ConditionBoard;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

const intervalMs = 60_000;

/** Time until a path that is not known yet is asked for again. */
const unknownPathMs = 250;

/** Watches the disk that the node's data lie on. Settles when the watch has ended. */
export async function watchDisk(options: DiskWatchOptions, dependencies: DiskWatchDependencies): Promise<void> {
  const { dataPath, board, log } = dependencies;
  const metrics = diskMetrics(dependencies.metrics);
  const patience = createFileDeadline(
    { withinMs: options.fileTimeoutMs, setting: "upkeep.fileTimeoutMs", signal: options.signal },
    { clock: dependencies.clock, onBack: () => undefined },
  );
  await poll(
    { name: "disk", intervalMs, signal: options.signal },
    async (signal) => {
      let path = dataPath();
      while (path === undefined && !signal.aborted) {
        await pause(unknownPathMs, signal);
        path = dataPath();
      }
      if (path === undefined) return;
      const found = await readDisk(path, patience);
      if (typeof found === "string") {
        metrics.observe(undefined, undefined);
        board.set({ type: "DiskSpaceLeft", status: "Unknown", reason: "NotReadable", message: found });
        return;
      }
      const history = remember(found, dependencies);
      const forecast = forecastDisk(history, found.freeBytes, options.forecastAfterSeconds);
      metrics.observe(found, forecast?.fullInSeconds);
      board.set(diskCondition(found, forecast, options));
    },
    { log },
  );
}

function diskMetrics(registry: Registry) {
  const gauge = (name: string, help: string) =>
    createSampleGauge({ name: `gatehouse_node_disk_${name}`, help, registry });
  const used = gauge("used_bytes", "Used bytes of the disk that holds the node's data.");
  const free = gauge("free_bytes", "Free bytes of the disk that holds the node's data.");
  const fullIn = gauge(
    "full_in_seconds",
    "Time until that disk is full at the slope of the last day; absent while it does not fill or was not seen for long enough.",
  );
  return {
    observe: (look: DiskLook | undefined, fullInSeconds: number | undefined) => {
      used.set(look?.usedBytes);
      free.set(look?.freeBytes);
      fullIn.set(fullInSeconds);
    },
  };
}

function remember({ path, usedBytes }: DiskLook, { history, clock }: DiskWatchDependencies): DiskHistory {
  const before = history.get();
  const now = rememberDiskUse(before, path, { atMs: clock.wallMs(), usedBytes });
  if (before?.uses.at(-1)?.atMs !== now.uses.at(-1)?.atMs) history.set(now);
  return now;
}

async function readDisk(path: string, patience: FileDeadline): Promise<DiskLook | string> {
  try {
    const { blocks, bfree, bavail, bsize } = await patience.call(`looking at the disk of ${path}`, () => statfs(path));
    return { path, usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize };
  } catch (error) {
    if (error instanceof HangingFileSystem) return `${error.message}.`;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return `The node's data directory ${path} can't be looked at (${code}); set node.dataPath, or mount it for the sidecar.`;
  }
}
