import type { Clock } from "#daemon/clock.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { startPrecisionMs, type NodeDriver } from "../drivers/driver.ts";
import { nodeStart } from "./node-start.ts";
import { recordSilence } from "./silence.ts";
import type { ObservedProcess } from "./process-observation.ts";

/** How a start is seen. */
export type StartingDependencies = Readonly<{
  health: Pick<HealthWatch, "current" | "facts" | "ranMs">;
  driver: NodeDriver | undefined;
  clock: Clock;
  signal: AbortSignal;
}>;

/**
 * Until when (wall clock) a silent node may still be starting: it has not answered since it started, and `restart.answersWithinMs` is not
 * over. A node whose process is gone is not starting. Where the driver can't tell when that was, it counts from the first look without an answer, for a node that was never seen to
 * answer or whose port was closed meanwhile. Undefined when the node answers, does not run, or hangs.
 */
export async function startupDeadline(
  process: ObservedProcess,
  {
    answersWithinMs,
    seesProcess,
  }: Readonly<{
    answersWithinMs: number;
    /** Whether it matters that the process can be seen. */ seesProcess: boolean;
  }>,
  dependencies: StartingDependencies,
): Promise<number | undefined> {
  const { clock, health, driver } = dependencies;
  const silence = recordSilence(process, health);
  const runs = seesProcess && ((await driver?.processes?.()) ?? []).length > 0;
  const { answeredAtMs } = health.current();
  if (silence === undefined) {
    noteProcess(process, runs, { answeredAtMs, wallMs: clock.wallMs() });
    return undefined;
  }
  if (process.now().wasSeen && !runs) return undefined;
  const startedAtMs = await nodeStart(process, dependencies);
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
  process: ObservedProcess,
  runs: boolean,
  { answeredAtMs, wallMs }: Readonly<{ answeredAtMs: number | undefined; wallMs: number }>,
): void {
  if (runs) return process.note({ wasSeen: true, missedAtMs: undefined });
  const { missedAtMs = wallMs } = process.now();
  process.note({ missedAtMs });
  if (answeredAtMs !== undefined && answeredAtMs > missedAtMs) process.note({ wasSeen: false });
}
