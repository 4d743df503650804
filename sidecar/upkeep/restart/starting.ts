import { startPrecisionMs } from "../drivers/driver.ts";
import { nodeStart } from "./node-start.ts";
import { recordSilence } from "./silence.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/**
 * Until when (wall clock) a silent node may still be starting: it has not answered since it started, and `restart.answersWithinMs` is not
 * over. A node whose process is gone is not starting. Where the driver can't tell when that was, it counts from the first look without an answer, for a node that was never seen to
 * answer or whose port was closed meanwhile. Undefined when the node answers, does not run, or hangs.
 */
export async function startupDeadline(memory: UpkeepMemory, parts: UpkeepParts): Promise<number | undefined> {
  const { settings, clock, health, driver } = parts;
  const silence = recordSilence(memory, health);
  const runs = settings.lag.restart && ((await driver?.processes?.()) ?? []).length > 0;
  const { answeredAtMs } = health.current();
  if (silence === undefined) {
    noteProcess(memory, runs, { answeredAtMs, wallMs: clock.wallMs() });
    return undefined;
  }
  if (memory.processWasSeen && !runs) return undefined;
  const { answersWithinMs } = settings.restart;
  const startedAtMs = await nodeStart(memory, parts);
  if (startedAtMs === "not-running") return undefined;
  const silentSinceMs = clock.wallMs() - (health.ranMs() - silence.sinceMs);
  const untilMs = (startedAtMs === "unknown" ? silentSinceMs : startedAtMs) + answersWithinMs;
  const hasAnswered =
    answeredAtMs !== undefined &&
    (startedAtMs === "unknown" ? !silence.portWasClosed : startedAtMs + startPrecisionMs <= answeredAtMs);
  return hasAnswered || clock.wallMs() >= untilMs ? undefined : untilMs;
}

/**
 * Notes whether the process of a node that answers can be seen. One that has just ended answered a moment ago: only an answer after it was
 * missed tells that what was seen before was not the node.
 */
function noteProcess(
  memory: UpkeepMemory,
  runs: boolean,
  { answeredAtMs, wallMs }: Readonly<{ answeredAtMs: number | undefined; wallMs: number }>,
): void {
  if (runs) {
    memory.processWasSeen = true;
    memory.processMissedAtMs = undefined;
    return;
  }
  memory.processMissedAtMs ??= wallMs;
  if (answeredAtMs !== undefined && answeredAtMs > memory.processMissedAtMs) memory.processWasSeen = false;
}
