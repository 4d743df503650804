import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { isJsonObject, type ConfigDocument, type JsonObject } from "#node/conf/document.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import type { SidecarSettings } from "../../settings.ts";
import { createDesiredState } from "../plan/desired-state.ts";
import { findWrite, plan, type Observed, type Plan } from "../plan/plan.ts";
import type { HealthEvidence, UpkeepState } from "../state/upkeep-state.ts";
import type { ConfigContext } from "./config-context.ts";
import { hashContent, type ConfigReading } from "./config-file.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { checkRestorable } from "./restorable.ts";

type LoadDependencies = Readonly<{ versions: Pick<ConfigVersions, "recall">; log: Pick<Logger, "warn"> }>;

/** Dependencies for selecting which earlier files to load: those with the data, keys and ports with which the node last ran. */
type EarlierDependencies = LoadDependencies &
  Readonly<{ state: Readonly<{ nodeValues: Pick<UpkeepState["nodeValues"], "get"> }> }>;

/** Plans with values from earlier files if the current file may lack some. If the file matches the desired configuration, no copy needs to be read. */
export async function planWithEarlierValues(
  observed: Observed,
  settings: SidecarSettings,
  pathsDirectory: string,
  dependencies: EarlierDependencies,
): Promise<Plan> {
  const dataPath = findDataPath(settings.node.dataPath, pathsDirectory, observed.document?.value);
  const desired = createDesiredState(settings, dataPath);
  const planned = plan(observed, desired);
  const lacksAddress = planned.problems.some(({ reason }) => reason === "PushAddressUnknown");
  if (observed.document === undefined || (findWrite(planned) === undefined && !lacksAddress)) return planned;
  const earlier = await loadEarlierMonitors(observed.document, pathsDirectory, dependencies);
  return plan(observed, { ...desired, monitor: { ...desired.monitor, earlier } });
}

/**
 * Loads the `monitor_config` from this node's stored contents: first the healthy one, then the last good one. Values that the file lacks
 * are restored from them.
 */
async function loadEarlierMonitors(
  standing: ConfigDocument,
  pathsDirectory: string,
  dependencies: EarlierDependencies,
): Promise<readonly JsonObject[]> {
  const copies = [await loadStoredConfig("healthy", dependencies), await loadStoredConfig("last-good", dependencies)];
  return copies.flatMap((copy) => {
    if (copy === undefined) return [];
    const judged = checkRestorable(copy, pathsDirectory, { standing }, dependencies.state);
    const monitor = judged.ok ? judged.document.chain["monitor_config"] : undefined;
    return isJsonObject(monitor) ? [monitor] : [];
  });
}

/** Loads stored content; undefined if it is missing or unreadable. */
export async function loadStoredConfig(
  slot: Parameters<ConfigVersions["recall"]>[0],
  { versions, log }: LoadDependencies,
): Promise<Uint8Array | undefined> {
  try {
    return await versions.recall(slot);
  } catch (error) {
    log.warn(
      { event: "healthy-config-unreadable", slot, err: error },
      "can't read the last healthy configuration; check upkeep.stateDirectory",
    );
    return undefined;
  }
}

/** Saves the content with which the node runs well, for a rollback; returns whether that succeeded. */
export async function saveHealthyConfig(
  bytes: Uint8Array,
  proof: HealthEvidence,
  {
    versions,
    state,
    clock,
    log,
  }: Readonly<{ versions: ConfigVersions; state: Pick<UpkeepState, "healthy">; clock: Clock; log: Logger }>,
): Promise<boolean> {
  try {
    // The record is written first: if the process is killed in between, the record doesn't match the copy, so the copy is trusted less,
    // never more.
    state.healthy.set({ hash: hashContent(bytes), proof, atMs: clock.wallMs() });
    await versions.remember("healthy", bytes);
    return true;
  } catch (error) {
    log.error(
      { event: "healthy-config-not-saved", err: error },
      "can't store the last healthy configuration; check upkeep.stateDirectory",
    );
    return false;
  }
}

/**
 * Saves the content that node.conf had before an external change, for the operator and for judging the change. At the first iteration, that
 * is the last good content.
 */
export async function saveConfigBeforeEdit(
  reading: ConfigReading,
  { isFirst }: Readonly<{ isFirst: boolean }>,
  { config, versions, state, log }: ConfigContext,
): Promise<void> {
  const { lastUsable } = config.now();
  if (!reading.ok || reading.contentHash === lastUsable?.contentHash) return;
  // The copy is on the same disk as the state, so writing it now would throw or hang.
  if (state.store.failure() !== undefined) return;
  config.note({ lastUsable: { contentHash: reading.contentHash, bytes: reading.bytes } });
  try {
    const before = lastUsable?.bytes ?? (isFirst ? await versions.recall("last-good") : undefined);
    if (before !== undefined && Buffer.compare(before, reading.bytes) !== 0) {
      await versions.keep(before);
    }
  } catch (error) {
    // The change is judged anyway. A correction either saves the content that it replaces or is not made.
    log.warn({ event: "config-before-edit-not-saved", err: error }, "can't back up the previous node.conf");
  }
}
