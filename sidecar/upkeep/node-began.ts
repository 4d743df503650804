import { isLoopback } from "#daemon/loopback.ts";
import { hasHeld } from "./clock-then.ts";
import { startOf } from "./drivers/driver.ts";
import { listenerStart } from "./drivers/listening-process.ts";
import type { UpkeepMemory, UpkeepParts } from "./upkeep-parts.ts";

/** A process reads its configuration a moment after its start, which is told to some 20 ms only. */
const precisionMs = 100;

/** How long a driver may take to tell when the node started; a restart may take longer, a look not. */
const askWithinMs = 3_000;

/**
 * Whether the running node is known to have begun after node.conf had its content, and so to have read it: because its port was seen closed since;
 * by its driver (docker, kubernetes); or by the process that listens on the node's port and runs in its bin directory. What the sidecar
 * has seen itself is told by the monotonic clock; what was before, by the file's and the process's times, unless the wall clock was set
 * meanwhile.
 *
 * @param fileChangedAtMs when the file last changed (wall clock); a directory that was put in another's place may bring a file that is older than
 * what stood there.
 */
export async function hasBegunSince(
  fileChangedAtMs: number,
  { contentSinceMs, otherAtMs }: UpkeepMemory,
  { settings, driver, health, place, clock, clockThen, signal }: UpkeepParts,
): Promise<boolean> {
  const { beganAfterMs } = health.current();
  if (beganAfterMs !== undefined && beganAfterMs > contentSinceMs) return true;
  const changedAtMs = Math.max(fileChangedAtMs, otherAtMs);
  const told = await startOf(driver, AbortSignal.any([signal, AbortSignal.timeout(askWithinMs)]));
  if (typeof told === "number" && told > changedAtMs && hasHeld(clockThen, clock)) return true;
  const { hostname, port, protocol } = new URL(settings.node.httpUrl);
  if (!isLoopback(hostname.replace(/^\[|\]$/g, ""))) return false;
  const defaultPort = protocol === "https:" ? 443 : 80;
  const started = await listenerStart(port === "" ? defaultPort : Number(port), place.layout().binDirectory, clock);
  if (started === undefined) return false;
  if (started.monotonicMs > contentSinceMs) return true;
  return hasHeld(clockThen, clock) && started.wallMs - precisionMs > changedAtMs;
}
