import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { ConfigDocument } from "#node/conf/document.ts";
import { matchesSomeVersion } from "#node/conf/any-version-match.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { findDataPath, readNodeValues } from "#node/conf/node-values.ts";
import { explainInaction } from "./adoption/authority.ts";
import { recordAdoption } from "./adoption/adoption-observation.ts";
import { applyConfig, compareConfig } from "./config/apply-config.ts";
import { checkConfig } from "./config/check-config.ts";
import type { ConfigReading } from "./config/config-file.ts";
import { removeStaleConfigFiles } from "./config/config-writer.ts";
import { planWithEarlierValues, saveConfigBeforeEdit } from "./config/healthy-config.ts";
import { watchData, type DataWatch } from "./corruption/watch-data.ts";
import type { IterationWatch } from "./iteration-watch.ts";
import { createDesiredState, hashDesiredState } from "./plan/desired-state.ts";
import { createPlanView } from "./plan/plan-view.ts";
import { applyPrune } from "./prune/apply-prune.ts";
import { applyRestart } from "./restart/apply-restart.ts";
import { liftPauseIfChanged } from "./restart/pause.ts";
import { recordRollback } from "./restart/rollback.ts";
import { recordRunningConfig } from "./restart/running-config.ts";
import { identifyNode } from "./state/node-identity.ts";
import { checkState } from "./state/state-observation.ts";
import type { UpkeepParts } from "./upkeep-parts.ts";
import { trackVersion } from "./version/version-observation.ts";
import type { VersionResolution } from "./version/version-resolution.ts";

export type IterationResult = Readonly<{ wakeInMs?: number }>;

/** Interval between checks of whether the node has reported its version, unless the loop is woken earlier. */
const checkAgainMs = 1_000;

/** node.conf could not be observed, so nothing that depends on it can be reported or done. */
class NoObservation extends Error {
  override readonly name = "NoObservation";
  readonly code = "nothing_seen";
}

/** Creates the reconciler's iteration: observe, plan, apply. Each step records its findings, from which the conditions are derived. */
export function createIteration(parts: UpkeepParts, watch: IterationWatch) {
  const { state, config, place, driver, process } = parts;
  const dataWatch: DataWatch = {};
  const progress = { step: "beginning", passed: false };
  const run = async (): Promise<IterationResult> => {
    const isFirst = !progress.passed;
    // The driver is queried again about the node's start.
    process.note({ started: undefined });
    progress.step = `checking the state directory ${state.directory}`;
    await checkState(config.now().goodNotKept, parts);
    const trackedVersion = await trackVersion(parts);
    if (trackedVersion === undefined) return { wakeInMs: checkAgainMs };
    const { resolution, moved, locationDoubt } = trackedVersion;
    const { version } = resolution;
    const authority = parts.authority();
    const path = place.layout().configPath;
    progress.step = `reading ${path}`;
    const auditedBefore = state.auditedConfig.get();
    const reading = await place.read();
    if (reading.ok && reading.contentHash !== config.now().contentHash) parts.observer.retryFailed();
    const isHanging = !reading.ok && reading.problem.reason === "Unresponsive";
    // Renewing the watch queries the file system without a time limit.
    if (!moved && !isHanging) await renewWatch(reading, isFirst, parts);
    progress.step = `judging ${path}`;
    const configCheck = await checkConfig({ reading, auditedBefore }, authority, parts);
    if (isHanging) throw new NoObservation(`${path} can't be read, because its file system hangs`);
    if (isFirst && authority === "acts") await tidyConfig(parts);
    await saveConfigBeforeEdit(reading, { isFirst }, parts);
    if (configCheck.again) return { wakeInMs: 1 };
    const { configPlan, desired } = await planChanges(reading, resolution, locationDoubt, parts);
    if (state.upgrade.get() !== undefined) (await import("./upgrade/apply-upgrade.ts")).applyUpgrade(parts);
    progress.step = `storing the node's configuration in ${state.directory}`;
    // Retains the node.conf with which the node runs, for a rollback, before any change is made.
    await recordRunningConfig(reading, version, parts);
    await recordRollback(parts);
    // Evaluated once per iteration: an adoption in the middle of an iteration takes effect in the next one.
    const idle = explainInaction(authority, state);
    progress.step = `writing ${path}`;
    const restoredResult = configCheck.written && { result: configCheck.written, again: false };
    const writeResult =
      idle === undefined && reading.ok ? await applyConfig(configPlan, reading, version, parts) : restoredResult;
    await compareConfig(configPlan, reading, writeResult, idle, version, parts);
    if (writeResult?.again === true) {
      // Another program may keep writing node.conf, so that no iteration gets past this point; this one counts as complete.
      watch.made();
      return { wakeInMs: 1 };
    }
    // Irreversible work isn't started without a node.conf, because the node may be another one, or may not exist.
    applyPrune(configPlan, idle ?? (reading.ok ? undefined : "node.conf is invalid (see ConfigReconciled)"), parts);
    progress.step = `querying the driver ${driver?.name ?? "none"} about the node`;
    const restartResult = await applyRestart({ planned: configPlan, reading, version, desired, authority }, parts);
    const dataChecks = watchData(dataWatch, parts);
    progress.passed = true;
    watch.made();
    const waits = [configCheck.wakeInMs, restartResult.wakeInMs, dataChecks].filter((ms) => ms !== undefined);
    return waits.length === 0 ? {} : { wakeInMs: Math.min(...waits) };
  };
  return { progress, run };
}

/** Renews the watch after a change without an event, because it then watches a removed path, e.g. a deleted directory. */
async function renewWatch(
  { contentHash }: ConfigReading,
  isFirst: boolean,
  { config, place }: UpkeepParts,
): Promise<void> {
  const isEvent = place.watch.takeEvent();
  if (!isFirst && !isEvent && contentHash !== config.now().contentHash)
    await place.watch.renew(place.layout().configPath);
}

/** Removes temporary files left by a sidecar that was killed during a write. */
async function tidyConfig({ place, versions, log }: UpkeepParts): Promise<void> {
  const { configPath } = place.layout();
  const what = `checking ${dirname(configPath)}`;
  const lockCheck = await place.fileDeadline.call(what, place.lock().acquireOnceReached);
  if (!lockCheck.ok) return;
  try {
    await versions.tidy();
    await place.fileDeadline.call(what, () => removeStaleConfigFiles(configPath));
  } catch (error) {
    log.warn({ event: "config-cleanup-failed", err: error }, "temporary files of an earlier run could not be removed");
  }
}

async function planChanges(
  reading: ConfigReading,
  resolution: VersionResolution,
  locationDoubt: string | undefined,
  parts: UpkeepParts,
) {
  const { settings, observer, config, state, place, nodeCli, driver } = parts;
  const { version } = resolution;
  const { pathsDirectory } = place.layout();
  const document = reading.ok ? reading.document : undefined;
  const last = document ?? config.now().document;
  config.note({ document: last });
  const desiredValues = createDesiredState(settings, findDataPath(settings.node.dataPath, pathsDirectory, last?.value));
  const desired = { hash: hashDesiredState(desiredValues), release: version?.release };
  liftPauseIfChanged(desired, parts);
  if (document !== undefined) await saveNodeIdentity(document, parts);
  const isVersionUnknown = version === undefined && document !== undefined;
  config.note({ mayReportVersion: isVersionUnknown && matchesSomeVersion(document, desiredValues.monitor) });
  const pruneInfo = observer.pruneInfo();
  const doubt = resolution.doubt ?? locationDoubt;
  const observedState = { document, version, doubt, pruneInfo, nodeHas: state.nodeHas.get() };
  const configPlan = await planWithEarlierValues(observedState, settings, pathsDirectory, parts);
  const driverProblem = await driver?.problem?.();
  const missing = [
    reading.ok ? undefined : reading.problem.message,
    driverProblem && `The node can't be restarted: ${driverProblem}.`,
    observer.missing(),
  ].filter((message) => message !== undefined);
  const means = { prunes: settings.prune.enabled && nodeCli !== undefined, restarts: driver !== undefined, missing };
  const plan = createPlanView(configPlan, pruneInfo, means);
  recordAdoption(plan, parts);
  return { configPlan, desired };
}

/**
 * Saves the node's identity, so that a node that moves while it is watched keeps its state. At first contact, assumes that it is running
 * with this file.
 */
async function saveNodeIdentity(document: ConfigDocument, { settings, state, place, health }: UpkeepParts) {
  const layout = place.layout();
  const { configPath, pathsDirectory } = layout;
  // A file that was removed in the meantime has only its former path.
  const resolvePath = () => realpath(configPath).catch(() => configPath);
  const realPath = await place.fileDeadline.call(`resolving ${configPath}`, resolvePath);
  if (state.nodeHas.get() === undefined) state.nodeHas.set(fingerprintConfig(document));
  if (state.nodeValues.get() === undefined) state.nodeValues.set(readNodeValues(document, pathsDirectory));
  const storedIdentity = state.identity.get();
  const reportedChainId = health.current().chainId ?? storedIdentity?.answeredChainId;
  const now = { ...identifyNode(settings, layout, document, realPath), answeredChainId: reportedChainId };
  if (JSON.stringify(now) !== JSON.stringify(storedIdentity)) state.identity.set(now);
}
