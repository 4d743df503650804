import { isLoopback, readUrlPort } from "#daemon/http/address.ts";
import type { Clock } from "#daemon/clock.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { createRunningTimeout } from "#daemon/time.ts";
import { hasHeld, type ClockThen } from "../clock-then.ts";
import { type NodeBegan, type NodeDriver, readStart, startPrecisionMs, type NodeStart } from "../drivers/driver.ts";
import { findListenerStart } from "../drivers/host-processes.ts";
import type { ConfigObservation } from "../config/config-observation.ts";
import type { NodePlace } from "../config/node-place.ts";
import type { ObservedProcess } from "./restart-observation.ts";

/** Margin for the start of a process, which is known to some 20 ms only, and after which it takes a moment to read its configuration. */
const precisionMs = 100;

/** Sources for when a node began. */
export type NodeBeganDependencies = Readonly<{
  health: Readonly<{ current: () => NodeHealth }>;
  driver: NodeDriver | undefined;
  place: Pick<NodePlace, "layout">;
  /** Address that the node listens on, and the time that it may take to answer after its start. */
  node: Readonly<{ httpUrl: string; answersWithinMs: number }>;
  clock: Clock;
  /** Both clocks when the upkeep began. */
  clockThen: ClockThen;
  signal: AbortSignal;
}>;

/**
 * Whether the running node began after node.conf had its content: because its port was seen closed since;
 * by its driver (docker, kubernetes); or by the process that listens on the node's port and runs in its bin directory. What the sidecar
 * has seen itself is judged by the monotonic clock; what was before, by the file's and the process's times, unless the wall clock was set
 * meanwhile. It began before only if the file changed longer after its start than it may take to answer: whatever starts a node, such as a container's
 * entry point, may write node.conf right before it is read.
 *
 * @param fileChangedAtMs time of the file's last change (wall clock); a directory that replaced another one may bring a file that is older than
 * the one it replaced.
 */
export async function hasNodeBegun(
  fileChangedAtMs: number,
  { contentSinceMs, otherAtMs }: Pick<ConfigObservation, "contentSinceMs" | "otherAtMs">,
  process: ObservedProcess,
  dependencies: NodeBeganDependencies,
): Promise<NodeBegan> {
  const { node, health, clock, clockThen } = dependencies;
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeBegan => {
    if (!hasHeld(clockThen, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock has been set back since, or the file's server has another clock.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // By the file's own time alone: after a look that found nothing, say while its file system hung, the content is not new.
    return startedAtMs + node.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const start = await readNodeStart(process, dependencies);
  const byDriver = typeof start === "number" ? judge(start) : "unknown";
  if (byDriver === "after") return byDriver;
  const started = await readOwnListenerStart(dependencies);
  if (started === undefined) return byDriver;
  return started.monotonicMs > contentSinceMs ? "after" : judge(started.wallMs - precisionMs);
}

/** Reads when the process started that listens on the node's port of this machine and runs in its bin directory; undefined if none is seen. */
async function readOwnListenerStart({
  node,
  place,
  clock,
}: Pick<NodeBeganDependencies, "node" | "place" | "clock">): ReturnType<typeof findListenerStart> {
  const url = new URL(node.httpUrl);
  if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return undefined;
  return findListenerStart(readUrlPort(url), place.layout().binDirectory, clock);
}

/**
 * Whether the running node began before a time (wall clock), and with enough of a margin to have read its configuration by then: as its driver reports, or
 * by its process on this machine.
 */
export async function hasRunSinceBefore(
  untilMs: number,
  process: ObservedProcess,
  dependencies: NodeBeganDependencies,
): Promise<boolean> {
  const start = await readNodeStart(process, dependencies);
  if (typeof start === "number") return start + startPrecisionMs < untilMs;
  const { clock, clockThen } = dependencies;
  if (start === "not-running" || !hasHeld(clockThen, clock)) return false;
  const listener = await readOwnListenerStart(dependencies);
  return listener !== undefined && listener.wallMs + startPrecisionMs < untilMs;
}

/** Time that a driver may take to report the node's start; a restart may take longer, a look may not. */
const answerWithinMs = 3_000;

/** Reads when the node's process started, as its driver reports; the driver is queried once a pass, however many steps need it. */
export function readNodeStart(
  process: ObservedProcess,
  { driver, signal }: Readonly<{ driver: NodeDriver | undefined; signal: AbortSignal }>,
): Promise<NodeStart> {
  const started =
    process.now().started ?? readStart(driver, AbortSignal.any([signal, createRunningTimeout(answerWithinMs)]));
  process.note({ started });
  return started;
}
