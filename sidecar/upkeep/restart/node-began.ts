import { isLoopback, readUrlPort } from "#daemon/http/address.ts";
import type { Clock } from "#daemon/clock.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { createRunningTimeout } from "#daemon/time.ts";
import { hasHeld, type ClockThen } from "../clock-then.ts";
import { type NodeBegan, type NodeDriver, readStart, type NodeStart } from "../drivers/driver.ts";
import { findListenerStart } from "../drivers/host-processes.ts";
import type { ConfigObservation } from "../config/config-observation.ts";
import type { NodePlace } from "../config/node-place.ts";
import type { ObservedProcess } from "./restart-observation.ts";

/** A process reads its configuration a moment after its start, which is known to some 20 ms only. */
const precisionMs = 100;

/** What shows when a node began. */
export type NodeBeganDependencies = Readonly<{
  health: Readonly<{ current: () => NodeHealth }>;
  driver: NodeDriver | undefined;
  place: Pick<NodePlace, "layout">;
  /** Where the node listens, and how long after its start it may take to answer. */
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
 * meanwhile. It began before only where the file changed longer after its start than it may take to answer: what starts a node, a container's entry
 * point say, may write node.conf right before it is read.
 *
 * @param fileChangedAtMs when the file last changed (wall clock); a directory that was put in another's place may bring a file that is older than
 * what stood there.
 */
export async function hasNodeBegun(
  fileChangedAtMs: number,
  { contentSinceMs, otherAtMs }: Pick<ConfigObservation, "contentSinceMs" | "otherAtMs">,
  process: ObservedProcess,
  dependencies: NodeBeganDependencies,
): Promise<NodeBegan> {
  const { node, health, place, clock, clockThen } = dependencies;
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeBegan => {
    if (!hasHeld(clockThen, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock was set back since, or the file's server has another one.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // By the file's own time alone: a look that found nothing, say while its file system hung, makes no content a new one.
    return startedAtMs + node.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const start = await readNodeStart(process, dependencies);
  const byDriver = typeof start === "number" ? judge(start) : "unknown";
  if (byDriver === "after") return byDriver;
  const url = new URL(node.httpUrl);
  if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return byDriver;
  const started = await findListenerStart(readUrlPort(url), place.layout().binDirectory, clock);
  if (started === undefined) return byDriver;
  return started.monotonicMs > contentSinceMs ? "after" : judge(started.wallMs - precisionMs);
}

/** How long a driver may take to report when the node started; a restart may take longer, a look not. */
const answerWithinMs = 3_000;

/** When the node's process started, as its driver reports: asked once a pass, however many of its steps want to know. */
export function readNodeStart(
  process: ObservedProcess,
  { driver, signal }: Readonly<{ driver: NodeDriver | undefined; signal: AbortSignal }>,
): Promise<NodeStart> {
  const started =
    process.now().started ?? readStart(driver, AbortSignal.any([signal, createRunningTimeout(answerWithinMs)]));
  process.note({ started });
  return started;
}
