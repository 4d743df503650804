import { Counter, type Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { DiskReport } from "#health/disk-watch.ts";
import { createSampleGauge } from "#status/charts.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { describeFailedCheck } from "#status/failed-check.ts";
import { DriverError } from "../upkeep/drivers/driver.ts";
import { planGrowth, type GrowthLimits, type GrowthPlan, type VolumeClaim } from "./volume-claim.ts";

export type VolumeGrowthDependencies = Readonly<{
  claim: VolumeClaim;
  /** Time at which the volume last grew (wall clock); persisted across sidecar restarts. */
  grownAt: Readonly<{ get: () => number | undefined; set: (atMs: number | undefined) => void }>;
  /** Whether the volume may grow now; otherwise, growth that is due is only reported. */
  mayAct: () => boolean;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** Grows a volume if little of it is free, and reports its state. Never rejects. */
export type VolumeGrowth = (freeRatio: number, signal: AbortSignal) => Promise<DiskReport>;

const gibibyte = 2 ** 30;
const type = "DiskSpaceSufficient";

export function createVolumeGrowth(limits: GrowthLimits, dependencies: VolumeGrowthDependencies): VolumeGrowth {
  const { claim, clock, grownAt, log } = dependencies;
  const requestedGauge = createSampleGauge({
    name: "gatehouse_volume_requested_bytes",
    help: "Requested size of the node's volume claim.",
    registry: dependencies.metrics,
  });
  const growths = new Counter({
    name: "gatehouse_volume_growths_total",
    help: "Times the claim was expanded.",
    registers: [dependencies.metrics],
  });
  const growWhenDue: VolumeGrowth = async (freeRatio, signal) => {
    const size = await claim.readSize(signal);
    requestedGauge.set(size.requestedBytes);
    const last = grownAt.get();
    const grownMsAgo = last === undefined ? undefined : Math.abs(clock.wallMs() - last);
    const plan = planGrowth({ ...size, freeRatio, grownMsAgo }, limits);
    if (plan.kind === "grow") {
      if (!dependencies.mayAct()) {
        const message = `The volume should grow to ${plan.toGibibytes} GiB, but the sidecar may not act (see NotPaused).`;
        return { type, status: "False", reason: "ResizeFailed", message };
      }
      await resize(plan.toGibibytes, { freeRatio, requestedBytes: size.requestedBytes }, dependencies, signal);
      growths.inc();
    }
    return describePlan(plan, { ...limits, requestedBytes: size.requestedBytes, wallMs: clock.wallMs() });
  };
  return async (freeRatio, signal) => {
    try {
      return await growWhenDue(freeRatio, signal);
    } catch (error) {
      if (error instanceof DriverError)
        return { type, status: "False", reason: "ResizeFailed", message: error.message };
      log.error({ event: "task-failed", err: error, task: "volume" }, "periodic task failed");
      const message = describeFailedCheck("The check of the node's volume", error);
      return { type, status: "Unknown", reason: "CheckFailed", message };
    }
  };
}

async function resize(
  toGibibytes: number,
  { freeRatio, requestedBytes }: Readonly<{ freeRatio: number; requestedBytes: number }>,
  { claim, clock, events, grownAt }: VolumeGrowthDependencies,
  signal: AbortSignal,
): Promise<void> {
  const last = grownAt.get();
  // The time is recorded first: a kill right after the request must not lead to a second request during the waiting period.
  grownAt.set(clock.wallMs());
  const message = `Expanding the volume to ${toGibibytes} GiB; ${(freeRatio * 100).toFixed(0)} % of it was free.`;
  const sides = { before: { bytes: requestedBytes }, after: { gibibytes: toGibibytes } };
  events.begin("volume", message, undefined, { by: "sidecar", ...sides });
  try {
    await claim.resize(toGibibytes, signal);
  } catch (error) {
    grownAt.set(last);
    if (!signal.aborted)
      events.fail("volume", "The volume could not be expanded.", String(error), { by: "sidecar", ...sides });
    throw error;
  }
  events.add("volume", message, undefined, { ...doneBySidecar, ...sides });
}

const reportGrowth = (message: string): DiskReport => ({ type, status: "True", reason: "Growing", message });

function describePlan(
  plan: GrowthPlan,
  seen: Readonly<{ requestedBytes: number; ceilingGibibytes: number; wallMs: number }>,
): DiskReport {
  const size = `The volume has ${Math.ceil(seen.requestedBytes / gibibyte)} GiB`;
  switch (plan.kind) {
    case "enough":
      return { type, status: "True", reason: "Sufficient", message: `${size}.` };
    case "grow":
      return reportGrowth(`${size} and is being expanded to ${plan.toGibibytes} GiB.`);
    case "growing":
      return reportGrowth(`The cluster is expanding the volume to ${Math.ceil(seen.requestedBytes / gibibyte)} GiB.`);
    case "paused": {
      const again = new Date(seen.wallMs + plan.forMs).toISOString();
      return reportGrowth(
        `${size}. It can be expanded again from ${again}: some providers allow one resize in six hours.`,
      );
    }
    case "at-ceiling": {
      const message = `The volume is at its maximum of ${seen.ceilingGibibytes} GiB; raise volume.ceilingGibibytes, or prune more.`;
      return { type, status: "False", reason: "AtMaxSize", message };
    }
  }
}
