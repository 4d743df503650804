import { statfs } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import type { Logger } from "#daemon/log.ts";
import type { Clock } from "../clock.ts";
import { pause, poll } from "../poll.ts";
import type { ConditionBoard } from "../tell/condition-board.ts";
import type { Condition } from "../tell/condition.ts";

/** Which disk is watched. */
export type DiskWatchOptions = Readonly<{ freeRatio: number; signal: AbortSignal }>;

export type DiskWatchDependencies = Readonly<{
  /** The data directory; undefined as long as it is not known. */
  dataPath: () => string | undefined;
  board: ConditionBoard;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** One look at a disk. */
type DiskLook = Readonly<{ atMs: number; usedBytes: number; freeBytes: number }>;

const intervalMs = 60_000;

/** Time until a path that is not known yet is asked for again. */
const unknownPathMs = 250;

/** Looks from which the slope is taken: a day of them. */
const looksKept = 1_440;

/** Watches the disk that the node's data lie on. Settles when the watch has ended. */
export async function watchDisk(options: DiskWatchOptions, dependencies: DiskWatchDependencies): Promise<void> {
  const { dataPath, board, metrics, clock, log } = dependencies;
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `gatehouse_node_disk_${name}`, help, registers: [metrics] });
  const used = gauge("used_bytes", "Used bytes of the disk that holds the node's data.");
  const free = gauge("free_bytes", "Free bytes of the disk that holds the node's data.");
  const daysLeft = gauge("full_in_days", "Days until that disk is full at the slope of the last day.");
  let looks: readonly DiskLook[] = [];
  await poll(
    { name: "disk", intervalMs, signal: options.signal },
    async (signal) => {
      let path = dataPath();
      while (path === undefined && !signal.aborted) {
        await pause(unknownPathMs, signal);
        path = dataPath();
      }
      if (path === undefined) return;
      const found = await look(path, clock.monotonicMs());
      if (typeof found === "string") {
        board.set({ type: "DiskSpaceLeft", status: "Unknown", reason: "NotReadable", message: found });
        return;
      }
      looks = [...looks, found].slice(-looksKept);
      const days = daysUntilFull(looks);
      used.set(found.usedBytes);
      free.set(found.freeBytes);
      if (days !== undefined) daysLeft.set(days);
      board.set(diskCondition(path, found, days, options.freeRatio));
    },
    { log },
  );
}

async function look(path: string, atMs: number): Promise<DiskLook | string> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(path);
    return { atMs, usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return `The node's data directory ${path} can't be looked at (${code}); set node.dataPath, or mount it for the sidecar.`;
  }
}

/** Days until the disk is full at the slope between the first and the last look; undefined when it does not fill up. Pure. */
export function daysUntilFull(looks: readonly DiskLook[]): number | undefined {
  const first = looks[0];
  const last = looks.at(-1);
  if (first === undefined || last === undefined || last.atMs - first.atMs < 10 * intervalMs) return undefined;
  const bytesPerMs = (last.usedBytes - first.usedBytes) / (last.atMs - first.atMs);
  return bytesPerMs <= 0 ? undefined : last.freeBytes / bytesPerMs / 86_400_000;
}

/** Says whether enough of a disk is free, and until when at its slope. Pure. */
export function diskCondition(
  path: string,
  { usedBytes, freeBytes }: DiskLook,
  days: number | undefined,
  freeRatio: number,
): Omit<Condition, "since"> {
  const type = "DiskSpaceLeft";
  const ratio = freeBytes / Math.max(1, usedBytes + freeBytes);
  const slope = days === undefined ? "" : ` At the present slope it is full in ${days.toFixed(1)} days.`;
  const base = `${(freeBytes / 2 ** 30).toFixed(1)} GiB (${(ratio * 100).toFixed(0)} %) are free at ${path}.${slope}`;
  if (ratio >= freeRatio) return { type, status: "True", reason: "Enough", message: base };
  return { type, status: "False", reason: "Low", message: `${base} Make the disk larger, or keep auto-pruning on.` };
}
