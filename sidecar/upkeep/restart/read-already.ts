import { hasSameMeaning, deriveMeaning } from "#node/conf/meaning.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { hasNodeStarted, wasRunningBefore, readNodeStart } from "./node-start.ts";
import type { RestartContext } from "./restart-context.ts";

/** Whether node.conf has returned to the meaning that the node had read before an external change. */
export function isAsBeforeDrift(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  { config, state }: RestartContext,
): boolean {
  const { previousMeaning } = config.now();
  if (!reading.ok || previousMeaning === undefined || state.nodeHas.get() !== "unknown") return false;
  return hasSameMeaning(previousMeaning.meaning, reading.document, version);
}

/**
 * Whether the node has read, or will read, the current node.conf, so that a restart would be pointless: the node started after node.conf last
 * changed, isn't running yet, or started before a drift that has since been corrected.
 */
export async function hasReadAlready(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<boolean> {
  if (!reading.ok) return false;
  const { config, process, state, events, place } = context;
  const started = await readNodeStart(process, context);
  const meaning = deriveMeaning(reading.document);
  const { previousMeaning } = config.now();
  const isEarlier =
    previousMeaning !== undefined &&
    isAsBeforeDrift(reading, version, context) &&
    (await wasRunningBefore(previousMeaning.untilMs, context));
  const isLater = (await hasNodeStarted(reading.changedAtMs, context)) === "after";
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
