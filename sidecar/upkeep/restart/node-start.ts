import { runningTimeout } from "#daemon/time.ts";
import { startOf, type NodeDriver, type NodeStart } from "../drivers/driver.ts";
import type { ObservedProcess } from "./process-observation.ts";

/** How long a driver may take to tell when the node started; a restart may take longer, a look not. */
const askWithinMs = 3_000;

/** When the node's process started, as its driver tells: asked once a pass, however many of its steps want to know. */
export function nodeStart(
  process: ObservedProcess,
  { driver, signal }: Readonly<{ driver: NodeDriver | undefined; signal: AbortSignal }>,
): Promise<NodeStart> {
  const started = process.now().started ?? startOf(driver, AbortSignal.any([signal, runningTimeout(askWithinMs)]));
  process.note({ started });
  return started;
}
