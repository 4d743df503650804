import { startPrecisionMs } from "../drivers/driver.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { nodeBegan } from "./node-began.ts";
import { nodeStart } from "./node-start.ts";
import { hasSameMeaning, meaningOf } from "#node/conf/meaning.ts";
import { tiesOf } from "#node/conf/ties.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** Whether node.conf means again what the node had read before somebody changed it. */
export function isAsBeforeDrift(
  reading: ConfigReading,
  { previousMeaning }: UpkeepMemory,
  { state, observer }: Pick<UpkeepParts, "state" | "observer">,
): boolean {
  if (!reading.ok || previousMeaning === undefined || state.nodeHas.get() !== "unknown") return false;
  return hasSameMeaning(previousMeaning.meaning, reading.document, observer.version().version);
}

/**
 * Whether the node has read what stands there, or will, so that a restart would be for nothing: as far as can be told, it
 * started after node.conf last changed, does not run yet, or has run since before a drift that was corrected.
 */
export async function hasReadAlready(
  reading: ConfigReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<boolean> {
  if (!reading.ok) return false;
  const { state, events, place } = parts;
  const started = await nodeStart(memory, parts);
  const meaning = meaningOf(reading.document);
  const { previousMeaning } = memory;
  const isEarlier =
    previousMeaning !== undefined &&
    isAsBeforeDrift(reading, memory, parts) &&
    typeof started === "number" &&
    started + startPrecisionMs < previousMeaning.untilMs;
  const isLater = (await nodeBegan(reading.changedAtMs, memory, parts)) === "after";
  if (started !== "not-running" && !isLater && !isEarlier) return false;
  const why = isEarlier ? "has run since before the drift" : "starts, or has started, with the corrected node.conf";
  state.atomically(() => {
    state.nodeHas.set(meaning);
    state.startedWith.set(isLater || isEarlier ? meaning : undefined);
    state.nodeTies.set(tiesOf(reading.document, place.layout().configPath));
    events.add("restart", `No restart is needed: the node ${why}.`);
  });
  return true;
}
