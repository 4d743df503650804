import type { Logger } from "#daemon/log/log.ts";
import { isJsonObject, type ConfigDocument, type JsonObject, parseConfig } from "#node/conf/document.ts";
import type { SidecarSettings } from "../../settings.ts";
import { createDesiredState } from "../plan/desired-state.ts";
import { findWrite, plan, type Observed, type Plan } from "../plan/plan.ts";
import type { HealthEvidence, UpkeepState } from "../state/upkeep-state.ts";
import type { ConfigContext } from "./config-context.ts";
import { hashContent, type ConfigReading } from "./config-file.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { matchesFingerprint } from "#node/conf/config-fingerprint.ts";
import {
  findDataPath,
  specifiesOwner,
  findOwnershipDifference,
  findValueDifference,
  readNodeValues,
  type NodeValues,
} from "#node/conf/node-values.ts";

/** What identifies an earlier file as this node's: the data, keys and ports with which the node last ran. */
type EarlierDependencies = Readonly<{
  versions: Pick<ConfigVersions, "recall">;
  state: Readonly<{ nodeValues: Pick<UpkeepState["nodeValues"], "get"> }>;
  log: Pick<Logger, "warn">;
}>;

/** Plans with values from earlier files if the current file may lack some. If the file matches the desired configuration, no copy needs to be read. */
export async function planWithEarlierValues(
  observed: Observed,
  settings: SidecarSettings,
  pathsDirectory: string,
  dependencies: EarlierDependencies,
): Promise<Plan> {
  const dataPath = findDataPath(settings.node.dataPath, pathsDirectory, observed.document?.value);
  const desiredState = createDesiredState(settings, dataPath);
  const currentPlan = plan(observed, desiredState);
  const lacksAddress = currentPlan.problems.some(({ reason }) => reason === "PushAddressUnknown");
  if (observed.document === undefined || (findWrite(currentPlan) === undefined && !lacksAddress)) return currentPlan;
  const earlierMonitors = await loadEarlierMonitors(observed.document, pathsDirectory, dependencies);
  return plan(observed, { ...desiredState, monitor: { ...desiredState.monitor, earlier: earlierMonitors } });
}

/** Loads `monitor_config` of this node's healthy and last good copies, for values that the file lacks. */
async function loadEarlierMonitors(
  standing: ConfigDocument,
  pathsDirectory: string,
  dependencies: EarlierDependencies,
): Promise<readonly JsonObject[]> {
  const copies = [await loadStoredConfig("healthy", dependencies), await loadStoredConfig("last-good", dependencies)];
  return copies.flatMap((copy) => {
    if (copy === undefined) return [];
    const configCheck = checkRestorable(copy, pathsDirectory, { standing }, dependencies.state);
    const monitor = configCheck.ok ? configCheck.document.chain["monitor_config"] : undefined;
    return isJsonObject(monitor) ? [monitor] : [];
  });
}

export async function loadStoredConfig(
  slot: Parameters<ConfigVersions["recall"]>[0],
  { versions, log }: Omit<EarlierDependencies, "state">,
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
  { versions, state, clock, log }: ConfigContext,
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

/** Saves the content that node.conf had before an external change; at the first iteration, the last good content. */
export async function saveConfigBeforeEdit(
  reading: ConfigReading,
  { isFirst }: Readonly<{ isFirst: boolean }>,
  { config, versions, state, log }: ConfigContext,
): Promise<void> {
  const { lastUsable } = config.now();
  if (!reading.ok || reading.contentHash === lastUsable?.contentHash) return;
  // If the state can't be written, neither can the copy, which is on the same disk.
  if (state.store.failure() !== undefined) return;
  config.note({ lastUsable: { contentHash: reading.contentHash, bytes: reading.bytes } });
  try {
    const previousBytes = lastUsable?.bytes ?? (isFirst ? await versions.recall("last-good") : undefined);
    if (previousBytes !== undefined && Buffer.compare(previousBytes, reading.bytes) !== 0) {
      await versions.keep(previousBytes);
    }
  } catch (error) {
    // The change is evaluated anyway. A correction is made only if the content that it replaces was saved.
    log.warn({ event: "config-before-edit-not-saved", err: error }, "can't back up the previous node.conf");
  }
}

type Restorable = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; why: string }>;

type RestoreContext = Readonly<{
  standing?: ConfigDocument | undefined;
  /** Fingerprint of the configuration with which this node is known to have run until now. */
  ran?: string | undefined;
}>;

/**
 * Checks a stored copy: with another node's copy, a node would write into that node's data. It must have the data, keys and ports of the
 * node's last run and, unless the node ran with this very copy until now, a data path or keys that the current node.conf also has.
 */
export function checkRestorable(
  copy: Uint8Array,
  pathsDirectory: string,
  { standing, ran }: RestoreContext,
  { nodeValues }: EarlierDependencies["state"],
): Restorable {
  const parsed = parseConfig(copy);
  if (!parsed.ok) return { ok: false, why: "the backup itself is invalid" };
  const values = readNodeValues(parsed.document, pathsDirectory);
  const lastRan = nodeValues.get();
  const hasRun = ran !== undefined && matchesFingerprint(ran, parsed.document, undefined);
  if (lastRan === undefined) return { ok: false, why: "the node's active configuration is not known yet" };
  const otherFile =
    findValueDifference(values, lastRan) ?? (hasRun ? undefined : describeMismatch(values, pathsDirectory, standing));
  return otherFile === undefined ? { ok: true, document: parsed.document } : { ok: false, why: otherFile };
}

/** Describes why a copy may be another node's, if this node isn't known to have run with it; undefined if nothing indicates that. */
function describeMismatch(
  copy: NodeValues,
  pathsDirectory: string,
  standing: ConfigDocument | undefined,
): string | undefined {
  if (!specifiesOwner(copy)) return "it has neither a data path nor keys, so it can't be matched to this node";
  return standing === undefined ? undefined : findOwnershipDifference(copy, readNodeValues(standing, pathsDirectory));
}
