import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { applyConfig, setConfigConditions, type AppliedConfig } from "./config/apply-config.ts";
import { applyPrune } from "./prune/apply-prune.ts";
import { applyRestart } from "./restart/apply-restart.ts";
import { desiredHash, desiredState } from "./plan/desired-state.ts";
import { tidyBesideConfig } from "./config/config-writer.ts";
import { checkConfig } from "./config/check-config.ts";
import { authorityOf, whyIdle } from "./adoption/authority.ts";
import { saveConfigBeforeEdit } from "./config/config-before-edit.ts";
import { saveNodeIdentity } from "./state/save-node-identity.ts";
import { liftHoldIfChanged } from "./restart/hold.ts";
import type { ConfigReading } from "./config/config-file.ts";
import { dataPathOf } from "#node/conf/data-path.ts";
import { plan } from "./plan/plan.ts";
import { isRightForSomeVersion } from "#node/conf/right-for-some-version.ts";
import { recordRunningConfig } from "./restart/running-config.ts";
import { createPlanView } from "./plan/plan-view.ts";
import type { PassWatch } from "./pass-watch.ts";
import { setAdoptedCondition } from "./adoption/adoption-condition.ts";
import { setRollBackCondition } from "./restart/roll-back-condition.ts";
import { setStateKeptCondition } from "./state/state-condition.ts";
import { setVersionCondition } from "./version/version-condition.ts";
import type { UpkeepMemory, UpkeepParts } from "./upkeep-parts.ts";

/** When the next pass is wanted, if sooner than the regular one. */
export type PassResult = Readonly<{ wakeInMs?: number }>;

/** When it is seen again whether the node has told its version, if nothing wakes the loop before. */
const lookAgainMs = 1_000;

/** Nothing was learned of node.conf, so nothing that depends on it can be told or done. */
class NothingSeen extends Error {
  override readonly name = "NothingSeen";
  readonly code = "nothing_seen";
}

/**
 * Makes one pass: observe, plan, apply, tell.
 *
 * @throws {NothingSeen} when node.conf's file system hangs.
 */
export async function pass(memory: UpkeepMemory, parts: UpkeepParts, watch: PassWatch): Promise<PassResult> {
  const { settings, observer, state, place } = parts;
  memory.started = undefined;
  memory.step = `looking at the state directory ${state.directory}`;
  await setStateKeptCondition(memory, parts);
  const resolution = observer.version();
  const { version } = resolution;
  // At the start nothing is said or done before the version had its chance to be told, by the node itself first.
  if (!observer.hasHeardNode() || (version === undefined && !observer.hasLooked())) return { wakeInMs: lookAgainMs };
  const { moved, doubt: doubtOfPlace } = await place.follow(version);
  setVersionCondition(resolution, doubtOfPlace, memory, parts);
  const { configPath } = place.layout();
  const authority = authorityOf(settings.upkeep.mode, state);
  memory.step = `reading ${configPath}`;
  const reading = await place.read();
  const isHanging = !reading.ok && reading.problem.reason === "Hanging";
  // Watching anew asks the file system without a time limit.
  if (!moved && !isHanging) await watchAnew(reading, memory, parts);
  memory.step = `judging ${configPath}`;
  const judged = await checkConfig(reading, memory, parts);
  if (isHanging) {
    throw new NothingSeen(`${configPath} can't be looked at, because its file system hangs`);
  }
  if (!memory.passed && authority === "acts") await tidy(parts);
  await saveConfigBeforeEdit(reading, memory, parts);
  if (judged.again) return { wakeInMs: 1 };
  const document = reading.ok ? reading.document : undefined;
  memory.document = document ?? memory.document;
  const desired = desiredState(settings, dataPathOf(settings.node.dataPath, configPath, memory.document?.value));
  const wanted = { hash: desiredHash(desired), release: version?.release };
  liftHoldIfChanged(wanted, parts);
  if (document !== undefined) await saveNodeIdentity(document, parts);
  memory.mayTellVersion =
    version === undefined && document !== undefined && isRightForSomeVersion(document, desired.monitor);
  const pruneInfo = observer.pruneInfo();
  const doubt = resolution.doubt ?? doubtOfPlace;
  const planned = plan({ document, version, doubt, pruneInfo, nodeHas: state.nodeHas.get() }, desired);
  const means = { prunes: settings.prune.enabled && parts.nodeCli !== undefined, restarts: parts.driver !== undefined };
  setAdoptedCondition(createPlanView(planned, pruneInfo, means), memory, parts);
  memory.step = `remembering what the node runs with in ${state.directory}`;
  // Before anything is changed: what the node runs with now is what there is to go back to.
  await recordRunningConfig(reading, memory, parts);
  await setRollBackCondition(memory, parts);
  // Asked once a pass: what was adopted in the middle of one is done in the next.
  const idle = whyIdle(authority, state);
  memory.step = `writing ${configPath}`;
  const restored: AppliedConfig | undefined =
    judged.written === undefined ? undefined : { result: judged.written, again: false };
  const written = idle === undefined && reading.ok ? await applyConfig(planned, reading, memory, parts) : restored;
  await setConfigConditions(planned, reading, { applied: written, idle }, memory, parts);
  if (written?.again === true) {
    // Another program that keeps writing node.conf has the node looked at again and again, and never further than this.
    watch.made();
    return { wakeInMs: 1 };
  }
  applyPrune(planned, idle, memory, parts);
  memory.step = `asking the driver ${parts.driver?.name ?? "none"} about the node`;
  const restart = await applyRestart(planned, reading, wanted, memory, parts);
  memory.passed = true;
  watch.made();
  const waits = [judged.wakeInMs, written?.wakeInMs, restart.wakeInMs].filter((ms) => ms !== undefined);
  return waits.length === 0 ? {} : { wakeInMs: Math.min(...waits) };
}

/** Removes what a sidecar that was killed in the middle of a write left behind. */
async function tidy({ place, versions, log }: UpkeepParts): Promise<void> {
  const { configPath } = place.layout();
  const directory = dirname(configPath);
  // Taking the lock asks the file system without a time limit: it must have answered just before.
  await place.patience.call(`looking at ${directory}`, () => stat(directory).catch(() => undefined));
  if (!place.lock().acquire().ok) return;
  try {
    await versions.tidy();
    await tidyBesideConfig(configPath);
  } catch (error) {
    log.warn({ err: error }, "temporary files of an earlier run could not be removed");
  }
}

/** A change that came without an event means that the watch looks at something that is gone, e.g. a deleted directory. */
async function watchAnew(reading: ConfigReading, memory: UpkeepMemory, { place }: UpkeepParts): Promise<void> {
  const isEvent = place.watch.takeEvent();
  if (memory.passed && !isEvent && reading.contentHash !== memory.contentHash) {
    await place.watch.renew(place.layout().configPath);
  }
}
