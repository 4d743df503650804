import { faultsOf } from "#health/node-facts.ts";
import { startupDeadline } from "./starting.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** Why the node is to be restarted for its health, if that is allowed and it has been unwell for long enough. */
export async function unwell(memory: UpkeepMemory, parts: UpkeepParts): Promise<string | undefined> {
  const { settings, health } = parts;
  const wasStarting = memory.startingUntilMs !== undefined;
  memory.startingUntilMs = await startupDeadline(memory, parts);
  // It has not been well or unwell before it answers.
  if (wasStarting && memory.silence === undefined) memory.unwellSinceMs = undefined;
  const [first] = faultsOf(health.facts());
  if (first === undefined) {
    memory.unwellSinceMs = undefined;
    return undefined;
  }
  memory.unwellSinceMs ??= health.ranMs();
  const unwellForMs = health.ranMs() - memory.unwellSinceMs;
  if (!settings.lag.restart || unwellForMs < settings.lag.restartAfterMs) return undefined;
  if (memory.startingUntilMs !== undefined) return undefined;
  return `the node has been unwell for ${Math.round(unwellForMs / 1_000)} s: ${first.reason}, ${first.message.replace(/\.$/, "")}`;
}
