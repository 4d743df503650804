import type { ConditionType } from "#status/condition.ts";
import { startupDeadline } from "./starting.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** Sides of the node that a restart may mend. */
const mendedByRestart: readonly ConditionType[] = [
  "RpcAnswering",
  "HeightAdvancing",
  "HeightCurrent",
  "WebSocketAnswering",
];

/** Why the node is to be restarted for its health, if that is allowed and it has been unwell for long enough. */
export async function unwell(memory: UpkeepMemory, parts: UpkeepParts): Promise<string | undefined> {
  const { settings, board, health } = parts;
  const wasStarting = memory.startingUntilMs !== undefined;
  memory.startingUntilMs = await startupDeadline(memory, parts);
  // It has not been well or unwell before it answers.
  if (wasStarting && memory.silence === undefined) memory.unwellSinceMs = undefined;
  const wrong = mendedByRestart.flatMap((type) => {
    const condition = board.get(type);
    return condition?.status === "False" ? [condition] : [];
  });
  const first = wrong[0];
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
