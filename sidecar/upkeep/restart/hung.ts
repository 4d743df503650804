import { nodeStart } from "./node-start.ts";
import { recordSilence } from "./silence.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/**
 * Why the node is to be restarted because it hangs: since its start it answered `eth_blockNumber` (specification, "Node command line"), and it
 * has not for `restart.hungAfterMs`. One that replays its log has not answered since its start, and is left to it, however long that
 * takes; so is one whose driver can't tell when it started.
 */
export async function hung(memory: UpkeepMemory, parts: UpkeepParts): Promise<string | undefined> {
  const { settings, health } = parts;
  const silence = recordSilence(memory, health);
  if (silence === undefined) return undefined;
  const { hungAfterMs } = settings.restart;
  const silentForMs = health.ranMs() - silence.sinceMs;
  const { answeredAtMs } = health.current();
  if (hungAfterMs === 0 || silentForMs < hungAfterMs || answeredAtMs === undefined) return undefined;
  const startedAt = await nodeStart(memory, parts);
  if (typeof startedAt !== "number" || startedAt > answeredAtMs) return undefined;
  return `the node hangs: it runs since ${new Date(startedAt).toISOString()} and has not answered for ${Math.round(silentForMs / 1_000)} s`;
}
