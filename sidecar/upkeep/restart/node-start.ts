import { isLoopback, readUrlPort } from "#daemon/http/address.ts";
import type { Clock } from "#daemon/clock.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { createRunningTimeout } from "#daemon/time.ts";
import { hasHeld, type ClockThen } from "../clock-reading.ts";
import { type NodeStarted, type NodeDriver, readStart, startPrecisionMs, type NodeStart } from "../drivers/driver.ts";
import { findListenerStart } from "../drivers/host-processes.ts";
import type { ConfigObservation } from "../config/config-observation.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { ObservedProcess } from "./restart-observation.ts";

/** Margin for a process's start time, which is accurate only to about 20 ms. After it starts, the process also takes a moment to read its configuration. */
const precisionMs = 100;

/** Sources from which the node's start time is determined. */
export type NodeStartedDependencies = Readonly<{
  health: Readonly<{ current: () => RpcState }>;
  driver: NodeDriver | undefined;
  place: Pick<NodeLocation, "layout">;
  /** Listening address of the node, and the max time until it responds after a start. */
  node: Readonly<{ httpUrl: string; answersWithinMs: number }>;
  clock: Clock;
  /** Both clocks when the upkeep started. */
  clockThen: ClockThen;
  signal: AbortSignal;
}>;

/**
 * Determines whether the running node started after node.conf got its content. There are three sources: the node's port was seen closed
 * since then; the driver's report (docker, kubernetes); or the process that listens on the node's port and runs in its bin directory.
 * Events that the sidecar observed are compared by the monotonic clock. Earlier events are compared by file and process times, unless the
 * wall clock was set in the meantime. `before` requires that the file changed more than the node's max response time after the node's
 * start: whatever starts a node, such as a container's entry point, may write node.conf right before the node reads it.
 *
 * @param fileChangedAtMs time of the file's last change (wall clock); a replaced directory may contain a file older than the one that it
 * replaces.
 */
export async function hasNodeStarted(
  fileChangedAtMs: number,
  { contentSinceMs, otherAtMs }: Pick<ConfigObservation, "contentSinceMs" | "otherAtMs">,
  process: ObservedProcess,
  dependencies: NodeStartedDependencies,
): Promise<NodeStarted> {
  const { node, health, clock, clockThen } = dependencies;
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeStarted => {
    if (!hasHeld(clockThen, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock has since been set back, or the file server's clock differs.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // Only the file's own time is used: after a failed check, e.g. while the file system hung, the content isn't necessarily new.
    return startedAtMs + node.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const start = await readNodeStart(process, dependencies);
  const byDriver = typeof start === "number" ? judge(start) : "unknown";
  if (byDriver === "after") return byDriver;
  const started = await readOwnListenerStart(dependencies);
  if (started === undefined) return byDriver;
  return started.monotonicMs > contentSinceMs ? "after" : judge(started.wallMs - precisionMs);
}

/**
 * Reads the start time of the process that listens on the node's port on this machine and runs in the node's bin directory; undefined if no
 * such process is visible.
 */
async function readOwnListenerStart({
  node,
  place,
  clock,
}: Pick<NodeStartedDependencies, "node" | "place" | "clock">): ReturnType<typeof findListenerStart> {
  const url = new URL(node.httpUrl);
  if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return undefined;
  return findListenerStart(readUrlPort(url), place.layout().binDirectory, clock);
}

/**
 * Whether the running node started long enough before a given time (wall clock) to have read its configuration by then, according to its
 * driver or to its process on this machine.
 */
export async function wasRunningBefore(
  untilMs: number,
  process: ObservedProcess,
  dependencies: NodeStartedDependencies,
): Promise<boolean> {
  const start = await readNodeStart(process, dependencies);
  if (typeof start === "number") return start + startPrecisionMs < untilMs;
  const { clock, clockThen } = dependencies;
  if (start === "not-running" || !hasHeld(clockThen, clock)) return false;
  const listener = await readOwnListenerStart(dependencies);
  return listener !== undefined && listener.wallMs + startPrecisionMs < untilMs;
}

/** Time limit within which a driver must report the node's start; a restart may take longer, but a check may not. */
const answerWithinMs = 3_000;

/** Reads the start time of the node's process from its driver. The driver is queried once per iteration for all steps. */
export function readNodeStart(
  process: ObservedProcess,
  { driver, signal }: Readonly<{ driver: NodeDriver | undefined; signal: AbortSignal }>,
): Promise<NodeStart> {
  const started =
    process.now().started ?? readStart(driver, AbortSignal.any([signal, createRunningTimeout(answerWithinMs)]));
  process.note({ started });
  return started;
}
