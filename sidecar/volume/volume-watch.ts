import { Counter, type Registry } from "prom-client";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { explainUnreadable } from "#daemon/files/regular-file.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedCheck, type WatchedCheck } from "#status/failed-check.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { createSampleGauge } from "#status/charts.ts";
import { DriverError } from "../upkeep/drivers/driver.ts";
import { planGrowth, type GrowthLimits, type GrowthPlan, type VolumeClaim } from "./volume-claim.ts";

export type VolumeWatchOptions = GrowthLimits & Readonly<{ intervalMs: number; signal: AbortSignal }>;

export type VolumeWatchDependencies = Readonly<{
  claim: VolumeClaim;
  /** Reads the fraction of the volume that is free, or the reason why it is unknown, within a time limit. */
  freeRatio: () => Promise<number | string>;
  /** Time at which the volume last grew (wall clock); persisted across sidecar restarts. */
  grownAt: Readonly<{ get: () => number | undefined; set: (atMs: number | undefined) => void }>;
  /** Whether the volume may grow now; otherwise, growth that is due is only reported. */
  mayAct: () => boolean;
  board: ConditionBoard;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

const gibibyte = 2 ** 30;

const watchedLook: WatchedCheck = { what: "The check of the node's volume", types: ["VolumeSizeSufficient"] };

/** Grows the claim for the node's volume when the volume fills up. Settles once the watch has stopped. */
export async function watchVolume(options: VolumeWatchOptions, dependencies: VolumeWatchDependencies): Promise<void> {
  const { claim, board, events, clock, grownAt, log } = dependencies;
  const requested = createSampleGauge({
    name: "gatehouse_volume_requested_bytes",
    help: "Requested size of the node's volume claim.",
    registry: dependencies.metrics,
  });
  const growths = new Counter({
    name: "gatehouse_volume_growths_total",
    help: "Times the claim was expanded.",
    registers: [dependencies.metrics],
  });
  const checkVolume = async (signal: AbortSignal): Promise<void> => {
    const freeRatio = await dependencies.freeRatio();
    if (typeof freeRatio === "string") return board.set(buildNotReadable(freeRatio));
    const size = await claim.readSize(signal);
    requested.set(size.requestedBytes);
    const last = grownAt.get();
    const grownMsAgo = last === undefined ? undefined : Math.abs(clock.wallMs() - last);
    const plan = planGrowth({ ...size, freeRatio, grownMsAgo }, options);
    if (plan.kind === "grow" && !dependencies.mayAct()) {
      const message = `${formatPercent(freeRatio)} of the volume is free. It should grow to ${plan.toGibibytes} GiB, but the sidecar may not act (see Adopted and NotPaused).`;
      board.set({ type: "VolumeSizeSufficient", status: "False", reason: "ResizeFailed", message });
      return;
    }
    if (plan.kind === "grow") {
      // The time is recorded first: a kill right after the request must not lead to a second request during the pause.
      grownAt.set(clock.wallMs());
      const message = `Expanding the volume to ${plan.toGibibytes} GiB; ${formatPercent(freeRatio)} of it was free.`;
      const sides = { before: { bytes: size.requestedBytes }, after: { gibibytes: plan.toGibibytes } };
      events.begin("volume", message, undefined, { by: "sidecar", ...sides });
      try {
        await claim.resize(plan.toGibibytes, signal);
      } catch (error) {
        grownAt.set(last);
        if (!signal.aborted)
          events.fail("volume", "The volume could not be expanded.", String(error), { by: "sidecar", ...sides });
        throw error;
      }
      growths.inc();
      events.add("volume", message, undefined, { ...doneBySidecar, ...sides });
    }
    board.set(
      buildCondition(plan, { ...options, freeRatio, requestedBytes: size.requestedBytes, wallMs: clock.wallMs() }),
    );
  };
  await poll(
    {
      name: "volume",
      failed: (error) => reportFailedCheck(watchedLook, error, board),
      intervalMs: options.intervalMs,
      signal: options.signal,
    },
    async (signal) => {
      try {
        await checkVolume(signal);
      } catch (error) {
        if (!(error instanceof DriverError) || signal.aborted) throw error;
        board.set({ type: "VolumeSizeSufficient", status: "False", reason: "ResizeFailed", message: error.message });
      }
    },
    { log },
  );
}

function buildNotReadable(message: string): Parameters<ConditionBoard["set"]>[0] {
  return { type: "VolumeSizeSufficient", status: "Unknown", reason: "ReadFailed", message };
}

function buildCondition(
  plan: GrowthPlan,
  seen: Readonly<{ freeRatio: number; requestedBytes: number; ceilingGibibytes: number; wallMs: number }>,
): Parameters<ConditionBoard["set"]>[0] {
  const type = "VolumeSizeSufficient";
  const { ceilingGibibytes } = seen;
  const size = `${formatPercent(seen.freeRatio)} of the volume's ${Math.ceil(seen.requestedBytes / gibibyte)} GiB is free.`;
  switch (plan.kind) {
    case "enough":
      return { type, status: "True", reason: "Sufficient", message: size };
    case "grow":
      return {
        type,
        status: "True",
        reason: "Growing",
        message: `${size} It is being expanded to ${plan.toGibibytes} GiB.`,
      };
    case "growing":
      return { type, status: "True", reason: "Growing", message: `${size} The cluster is expanding it.` };
    case "paused": {
      const again = new Date(seen.wallMs + plan.forMs).toISOString();
      return {
        type,
        status: "True",
        reason: "Paused",
        message: `${size} It can be expanded again from ${again}: some providers allow one resize in six hours.`,
      };
    }
    case "at-ceiling": {
      const message = `${size} It is at its maximum of ${ceilingGibibytes} GiB; raise volume.ceilingGibibytes, or prune more.`;
      return { type, status: "False", reason: "AtMaxSize", message };
    }
  }
}

function formatPercent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)} %`;
}

/**
 * Measures the fraction of bytes that are free on a path's disk; returns the reason on failure. A lack of inodes alone doesn't make a
 * volume grow, because a volume never shrinks again.
 */
export async function measureFreeRatio(path: string | undefined, fileDeadline: FileDeadline): Promise<number | string> {
  if (path === undefined)
    return "The node's data directory is not known yet: node.conf could not be read, and node.dataPath is not set.";
  try {
    const space = await fileDeadline.call(`checking the volume of ${path}`, () => readDiskSpace(path));
    return space.freeBytesRatio;
  } catch (error) {
    if (error instanceof HangingFileSystem) return `${error.message}.`;
    return `The node's data directory ${path} can't be read (${explainUnreadable(error)}); set node.dataPath, or mount it in the sidecar.`;
  }
}
