import { isLoopback, readUrlPort } from "#daemon/http/address.ts";
import { createRunningTimeout } from "#daemon/time.ts";
import { isClockUnchanged } from "../clock-reading.ts";
import { type NodeStarted, readStart, startPrecisionMs, type NodeStart } from "../drivers/driver.ts";
import { findListenerStart } from "../drivers/host-processes.ts";
import type { RestartContext } from "./restart-context.ts";
import type { ObservedProcess } from "./restart-observation.ts";

/** Margin for a process's start time, which is accurate only to about 20 ms. After it starts, the process also takes a moment to read its configuration. */
const precisionMs = 100;

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
export async function hasNodeStarted(fileChangedAtMs: number, context: RestartContext): Promise<NodeStarted> {
  const { node, config, process, health, clock, clockThen } = context;
  const { contentSinceMs, otherAtMs } = config.now();
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeStarted => {
    if (!isClockUnchanged(clockThen, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock has since been set back, or the file server's clock differs.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // Only the file's own time is used: after a failed check, e.g. while the file system hung, the content isn't necessarily new.
    return startedAtMs + node.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const start = await readNodeStart(process, context);
  const byDriver = typeof start === "number" ? judge(start) : "unknown";
  if (byDriver === "after") return byDriver;
  const started = await readOwnListenerStart(context);
  if (started === undefined) return byDriver;
  return started.monotonicMs > contentSinceMs ? "after" : judge(started.wallMs - precisionMs);
}

/**
 * Reads the start time of the process that listens on the node's port on this machine and runs in the node's bin directory; undefined if no
 * such process is visible.
 */
async function readOwnListenerStart({ node, place, clock }: RestartContext): ReturnType<typeof findListenerStart> {
  const url = new URL(node.httpUrl);
  if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return undefined;
  return findListenerStart(readUrlPort(url), place.layout().binDirectory, clock);
}

/**
 * Whether the running node started long enough before a given time (wall clock) to have read its configuration by then, according to its
 * driver or to its process on this machine.
 */
export async function wasRunningBefore(untilMs: number, context: RestartContext): Promise<boolean> {
  const { process, clock, clockThen } = context;
  const start = await readNodeStart(process, context);
  if (typeof start === "number") return start + startPrecisionMs < untilMs;
  if (start === "not-running" || !isClockUnchanged(clockThen, clock)) return false;
  const listener = await readOwnListenerStart(context);
  return listener !== undefined && listener.wallMs + startPrecisionMs < untilMs;
}

/** Time limit within which a driver must report the node's start; a restart may take longer, but a check may not. */
const answerWithinMs = 3_000;

/** Reads the start time of the node's process from its driver. The driver is queried once per iteration for all steps. */
export function readNodeStart(
  process: ObservedProcess,
  { driver, signal }: Pick<RestartContext, "driver" | "signal">,
): Promise<NodeStart> {
  const started =
    process.now().started ?? readStart(driver, AbortSignal.any([signal, createRunningTimeout(answerWithinMs)]));
  process.note({ started });
  return started;
}
