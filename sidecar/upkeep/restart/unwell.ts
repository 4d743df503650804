import { faultsOf } from "#health/node-facts.ts";
import { startupDeadline, type StartingDependencies } from "./starting.ts";
import type { ObservedProcess } from "./process-observation.ts";

/** Why the node is to be restarted for its health, if that is allowed and it has been unwell for long enough. */
export async function unwell(
  process: ObservedProcess,
  {
    isRestarted,
    restartAfterMs,
    answersWithinMs,
  }: Readonly<{ /** `lag.restart`. */ isRestarted: boolean; restartAfterMs: number; answersWithinMs: number }>,
  dependencies: StartingDependencies,
): Promise<string | undefined> {
  const { health } = dependencies;
  const wasStarting = process.now().startingUntilMs !== undefined;
  const startingUntilMs = await startupDeadline(process, { answersWithinMs, seesProcess: isRestarted }, dependencies);
  process.note({ startingUntilMs });
  // It has not been well or unwell before it answers.
  if (wasStarting && process.now().silence === undefined) process.note({ unwellSinceMs: undefined });
  const [first] = faultsOf(health.facts());
  if (first === undefined) {
    process.note({ unwellSinceMs: undefined });
    return undefined;
  }
  const { unwellSinceMs = health.ranMs() } = process.now();
  process.note({ unwellSinceMs });
  const unwellForMs = health.ranMs() - unwellSinceMs;
  if (!isRestarted || unwellForMs < restartAfterMs) return undefined;
  if (startingUntilMs !== undefined) return undefined;
  return `the node has been unwell for ${Math.round(unwellForMs / 1_000)} s: ${first.reason}, ${first.message.replace(/\.$/, "")}`;
}
