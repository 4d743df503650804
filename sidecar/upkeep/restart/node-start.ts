import { runningTimeout } from "#daemon/time.ts";
import { startOf, type NodeStart } from "../drivers/driver.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** How long a driver may take to tell when the node started; a restart may take longer, a look not. */
const askWithinMs = 3_000;

/** When the node's process started, as its driver tells: asked once a pass, however many of its steps want to know. */
export function nodeStart(
  memory: Pick<UpkeepMemory, "started">,
  { driver, signal }: Pick<UpkeepParts, "driver" | "signal">,
): Promise<NodeStart> {
  memory.started ??= startOf(driver, AbortSignal.any([signal, runningTimeout(askWithinMs)]));
  return memory.started;
}
