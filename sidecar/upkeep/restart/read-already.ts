import type { ConfigReading } from "../config/config-file.ts";
import { hasNodeStarted, wasRunningBefore, type NodeStartedDependencies, readNodeStart } from "./node-start.ts";
import { hasSameMeaning, deriveMeaning } from "#node/conf/meaning.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { ConfigObservation } from "../config/config-observation.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { ObservedProcess } from "./restart-observation.ts";

/** Whether node.conf has returned to the meaning that the node had read before an external change. */
export function isAsBeforeDrift(
  reading: ConfigReading,
  { previousMeaning }: Pick<ConfigObservation, "previousMeaning">,
  version: NodeVersion | undefined,
  state: Pick<UpkeepState, "nodeHas">,
): boolean {
  if (!reading.ok || previousMeaning === undefined || state.nodeHas.get() !== "unknown") return false;
  return hasSameMeaning(previousMeaning.meaning, reading.document, version);
}

/** Observations of node.conf and of the node. */
export type ReadAlreadySeen = Readonly<{
  config: Pick<ConfigObservation, "contentSinceMs" | "otherAtMs" | "previousMeaning">;
  process: ObservedProcess;
  version: NodeVersion | undefined;
}>;

export type ConfigReadDependencies = NodeStartedDependencies &
  Readonly<{
    state: Pick<UpkeepState, "atomically" | "nodeHas" | "nodeValues" | "startedWith">;
    events: EventLog;
  }>;

/**
 * Whether the node has read, or will read, the current node.conf, so that a restart would be pointless: the node started after node.conf last
 * changed, isn't running yet, or started before a drift that has since been corrected.
 */
export async function hasReadAlready(
  reading: ConfigReading,
  { config, process, version }: ReadAlreadySeen,
  dependencies: ConfigReadDependencies,
): Promise<boolean> {
  if (!reading.ok) return false;
  const { state, events, place } = dependencies;
  const started = await readNodeStart(process, dependencies);
  const meaning = deriveMeaning(reading.document);
  const { previousMeaning } = config;
  const isEarlier =
    previousMeaning !== undefined &&
    isAsBeforeDrift(reading, config, version, state) &&
    (await wasRunningBefore(previousMeaning.untilMs, process, dependencies));
  const isLater = (await hasNodeStarted(reading.changedAtMs, config, process, dependencies)) === "after";
  if (started !== "not-running" && !isLater && !isEarlier) return false;
  const why = isEarlier ? "was already running before the drift" : "starts or has started with the corrected node.conf";
  state.atomically(() => {
    state.nodeHas.set(meaning);
    state.startedWith.set(isLater || isEarlier ? meaning : undefined);
    state.nodeValues.set(readNodeValues(reading.document, place.layout().pathsDirectory));
    events.add("restart", `No restart is needed: the node ${why}.`, undefined, doneBySidecar);
  });
  return true;
}
