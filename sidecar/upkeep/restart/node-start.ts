import { isLoopback, readUrlHost } from "#daemon/http/address.ts";
import { createTimeoutSignal } from "#daemon/time.ts";
import { isClockUnchanged } from "#daemon/clock.ts";
import { type NodeStarted, readStart, startPrecisionMs, type NodeStart } from "../drivers/driver.ts";
import type { NodeProcesses } from "../drivers/host-processes.ts";
import type { RestartContext } from "./restart-context.ts";
import { matchesFingerprint, fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { ConfigReading } from "../config/config-file.ts";

/** Margin for a process's start time, which is accurate only to about 20 ms. After it starts, the process also takes a moment to read its configuration. */
const precisionMs = 100;

/**
 * Whether the running node started after node.conf got its content, as shown by its port, which was closed since then, by its driver, or by
 * its process on this machine. The sidecar's own observations are compared by the monotonic clock, the rest by file and process times
 * unless the wall clock was set. `before` requires a start earlier by more than the max response time: whatever starts a node, such as an
 * entry point, may write node.conf right before the node reads it.
 */
export async function hasNodeStarted(fileChangedAtMs: number, context: RestartContext): Promise<NodeStarted> {
  const { settings, config, health, clock, clockAtStart: clocksBefore } = context;
  const { contentSinceMs, otherAtMs } = config.now();
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeStarted => {
    if (!isClockUnchanged(clocksBefore, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock has since been set back, or the file server's clock differs.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // Only the file's own time is used: after a failed check, e.g. on a hung file system, the content isn't necessarily new.
    return startedAtMs + settings.restart.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const start = await readNodeStart(context);
  const byDriver = typeof start === "number" ? judge(start) : "unknown";
  if (byDriver === "after") return byDriver;
  const listenerStart = await readOwnListenerStart(context);
  if (listenerStart === undefined) return byDriver;
  return listenerStart.monotonicMs > contentSinceMs ? "after" : judge(listenerStart.wallMs - precisionMs);
}

/** Start of the process that listens on the node's port here and runs in its bin directory; undefined if it isn't visible. */
async function readOwnListenerStart({
  settings,
  holders,
  clock,
}: RestartContext): ReturnType<NodeProcesses["startOfListener"]> {
  return isLoopback(readUrlHost(new URL(settings.node.httpUrl))) ? holders.startOfListener(clock) : undefined;
}

/** Whether the node started long enough before a time (wall clock) to have read its configuration by then. */
async function wasRunningBefore(untilMs: number, context: RestartContext): Promise<boolean> {
  const { clock, clockAtStart: clocksBefore } = context;
  const start = await readNodeStart(context);
  if (typeof start === "number") return start + startPrecisionMs < untilMs;
  if (start === "not-running" || !isClockUnchanged(clocksBefore, clock)) return false;
  const listener = await readOwnListenerStart(context);
  return listener !== undefined && listener.wallMs + startPrecisionMs < untilMs;
}

/** Time limit within which a driver must report the node's start; a restart may take longer, but a check may not. */
const responseTimeoutMs = 3_000;

/** Reads the start time of the node's process from its driver. The driver is queried once per iteration for all steps. */
export function readNodeStart({ process, driver, signal }: RestartContext): Promise<NodeStart> {
  const started =
    process.now().started ?? readStart(driver, AbortSignal.any([signal, createTimeoutSignal(responseTimeoutMs)]));
  process.note({ started });
  return started;
}

/** Whether node.conf again has the fingerprint that the node had read before an external change. */
export function isDriftOnly(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  { config, state }: RestartContext,
): boolean {
  const { previousFingerprint } = config.now();
  if (!reading.ok || previousFingerprint === undefined || state.nodeHas.get() !== "unknown") return false;
  return matchesFingerprint(previousFingerprint.fingerprint, reading.document, version);
}

/**
 * Whether the node has read or will read this node.conf: it started after the change, isn't running, or started before a drift that was
 * since corrected.
 */
export async function hasNodeReadConfig(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<boolean> {
  if (!reading.ok) return false;
  const { config, state, events, place } = context;
  const started = await readNodeStart(context);
  const fingerprint = fingerprintConfig(reading.document);
  const { previousFingerprint } = config.now();
  const isEarlier =
    previousFingerprint !== undefined &&
    isDriftOnly(reading, version, context) &&
    (await wasRunningBefore(previousFingerprint.untilMs, context));
  const isLater = (await hasNodeStarted(reading.changedAtMs, context)) === "after";
  if (started !== "not-running" && !isLater && !isEarlier) return false;
  const why = isEarlier ? "was already running before the drift" : "starts or has started with the corrected node.conf";
  state.atomically(() => {
    state.nodeHas.set(fingerprint);
    state.startedWith.set(isLater || isEarlier ? fingerprint : undefined);
    state.nodeValues.set(readNodeValues(reading.document, place.layout().pathsDirectory));
    events.add("restart", `No restart is needed: the node ${why}.`, undefined, doneBySidecar);
  });
  return true;
}
