import { isLoopback } from "#daemon/http/loopback.ts";
import { hasHeld } from "../clock-then.ts";
import type { NodeBegan } from "../drivers/driver.ts";
import { listenerStart } from "../drivers/listening-process.ts";
import { nodeStart } from "./node-start.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** A process reads its configuration a moment after its start, which is told to some 20 ms only. */
const precisionMs = 100;

/**
 * Whether the running node began after node.conf had its content: because its port was seen closed since;
 * by its driver (docker, kubernetes); or by the process that listens on the node's port and runs in its bin directory. What the sidecar
 * has seen itself is told by the monotonic clock; what was before, by the file's and the process's times, unless the wall clock was set
 * meanwhile. It began before only where the file changed longer after its start than it may take to answer: what starts a node, a container's entry
 * point say, may write node.conf right before it is read.
 *
 * @param fileChangedAtMs when the file last changed (wall clock); a directory that was put in another's place may bring a file that is older than
 * what stood there.
 */
export async function nodeBegan(fileChangedAtMs: number, memory: UpkeepMemory, parts: UpkeepParts): Promise<NodeBegan> {
  const { settings, health, place, clock, clockThen } = parts;
  const { contentSinceMs, otherAtMs } = memory;
  const { startedAfterMs } = health.current();
  if (startedAfterMs !== undefined && startedAfterMs > contentSinceMs) return "after";
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const judge = (startedAtMs: number): NodeBegan => {
    if (!hasHeld(clockThen, clock)) return "unknown";
    if (startedAtMs > changedAtMs) return "after";
    // The clock was set back since, or the file's server has another one.
    if (fileChangedAtMs > clock.wallMs()) return "unknown";
    // By the file's own time alone: a look that found nothing, say while its file system hung, makes no content a new one.
    return startedAtMs + settings.restart.answersWithinMs < fileChangedAtMs ? "before" : "unknown";
  };
  const told = await nodeStart(memory, parts);
  const byDriver = typeof told === "number" ? judge(told) : "unknown";
  if (byDriver === "after") return byDriver;
  const { hostname, port, protocol } = new URL(settings.node.httpUrl);
  if (!isLoopback(hostname.replace(/^\[|\]$/g, ""))) return byDriver;
  const defaultPort = protocol === "https:" ? 443 : 80;
  const started = await listenerStart(port === "" ? defaultPort : Number(port), place.layout().binDirectory, clock);
  if (started === undefined) return byDriver;
  return started.monotonicMs > contentSinceMs ? "after" : judge(started.wallMs - precisionMs);
}
