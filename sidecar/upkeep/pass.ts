import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import { applyConfig, compareConfig, type AppliedConfig } from "./config/apply-config.ts";
import type { ApplyConfigDependencies, CompareConfigDependencies } from "./config/apply-config.ts";
import { applyPrune, type ApplyPruneDependencies } from "./prune/apply-prune.ts";
import { beginScheduled, type BeginScheduledDependencies, type ScheduleWatch } from "./upgrade/begin-scheduled.ts";
import { watchData, type DataWatch, type WatchDataDependencies } from "./corruption/watch-data.ts";
import type { ObservedData } from "./corruption/data-observation.ts";
import { applyUpgrade, type ApplyUpgradeDependencies } from "./upgrade/apply-upgrade.ts";
import type { UpgradeRequest } from "./upgrade/check-release.ts";
import { checkUpgrade } from "./upgrade/check-upgrade.ts";
import type { ObservedUpgrade } from "./upgrade/upgrade-observation.ts";
import { applyRestart, type ApplyRestartDependencies } from "./restart/apply-restart.ts";
import { tidyConfig } from "./config/tidy-config.ts";
import {
  checkConfig,
  type CheckConfigDependencies,
  type CheckConfigOptions,
  type Judgement,
} from "./config/check-config.ts";
import type { ObservedAdoption } from "./adoption/adoption-observation.ts";
import { decideAuthority, explainIdle } from "./adoption/authority.ts";
import { saveConfigBeforeEdit } from "./config/healthy-config.ts";
import type { ObservedConfig } from "./config/config-observation.ts";
import type { ConfigReading } from "./config/config-file.ts";
import type { NodePlace } from "./config/node-place.ts";
import type { Plan } from "./plan/plan.ts";
import { planPass, type PlanPassDependencies } from "./plan-step.ts";
import { recordRunningConfig, type RunningConfigDependencies } from "./restart/running-config.ts";
import type { PassWatch } from "./pass-watch.ts";
import type { ObservedPruning } from "./prune/prune-observation.ts";
import { isUnread, type ObservedProcess, type ObservedRestarts } from "./restart/restart-observation.ts";
import { noteRollBack } from "./restart/roll-back.ts";
import { lookAtState, type ObservedState } from "./state/state-observation.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import type { NodeObserver } from "./version/node-observer.ts";
import { noteVersion, type ObservedVersion } from "./version/version-observation.ts";
import type { VersionResolution } from "./version/version-resolution.ts";

/** What the passes find and leave for the next ones, by noun. */
export type PassObservations = Readonly<{
  state: ObservedState;
  version: ObservedVersion;
  config: ObservedConfig;
  adoption: ObservedAdoption;
  prune: ObservedPruning;
  process: ObservedProcess;
  restarts: ObservedRestarts;
  upgrade: ObservedUpgrade;
  data: ObservedData;
}>;

/** Dependencies of all steps of a pass, and those of the pass itself. */
export type PassDependencies = CheckConfigDependencies &
  ApplyConfigDependencies &
  CompareConfigDependencies &
  PlanPassDependencies &
  RunningConfigDependencies &
  ApplyPruneDependencies &
  ApplyRestartDependencies &
  Omit<ApplyUpgradeDependencies, "check"> &
  BeginScheduledDependencies &
  WatchDataDependencies &
  Readonly<{
    state: UpkeepState;
    /** For calls of the file system that the state is on. */
    stateDeadline: FileDeadline;
    place: NodePlace;
    observer: NodeObserver;
  }>;

/** Where the loop is. */
export type PassProgress = {
  /** What the pass that runs does now, as in "reading node.conf". */
  step: string;
  /** Whether a whole pass was made. */
  passed: boolean;
  schedule: ScheduleWatch;
  data: DataWatch;
};

/** When the next pass is wanted, if sooner than the regular one. */
export type PassResult = Readonly<{ wakeInMs?: number }>;

/** When it is seen again whether the node has reported its version, if nothing wakes the loop before. */
const lookAgainMs = 1_000;

/** Nothing was learned of node.conf, so nothing that depends on it can be reported or done. */
class NothingSeen extends Error {
  override readonly name = "NothingSeen";
  readonly code = "nothing_seen";
}

/**
 * Makes one pass: observe, plan, apply. What it finds is noted; the conditions are derived from that.
 *
 * @throws {NothingSeen} when node.conf's file system hangs.
 */
export async function runPass(
  progress: PassProgress,
  seen: PassObservations,
  dependencies: PassDependencies,
  watch: PassWatch,
): Promise<PassResult> {
  const { settings, observer, state, place } = dependencies;
  seen.process.note({ started: undefined });
  progress.step = `looking at the state directory ${state.directory}`;
  await lookAtState(seen.config.now().goodNotKept, seen.state, dependencies);
  const resolution = observer.version();
  const { version } = resolution;
  // At the start nothing is said or done before the version had its chance to be reported, by the node itself first.
  if (!observer.hasHeardNode() || (version === undefined && !observer.hasLooked())) return { wakeInMs: lookAgainMs };
  const { moved, doubt: doubtOfPlace } = await place.follow(version);
  noteVersion(resolution, doubtOfPlace, seen.version, dependencies);
  const { configPath } = place.layout();
  const authority = decideAuthority(settings.upkeep.mode, state);
  progress.step = `reading ${configPath}`;
  const auditedThen = state.auditedConfig.get();
  const reading = await place.read();
  const isHanging = !reading.ok && reading.problem.reason === "Hanging";
  // Watching again queries the file system without a time limit.
  if (!moved && !isHanging) await watchAnew(reading, progress, seen.config, place);
  progress.step = `judging ${configPath}`;
  const judged = await judge(reading, { authority, auditedThen }, seen, dependencies);
  if (isHanging) {
    throw new NothingSeen(`${configPath} can't be looked at, because its file system hangs`);
  }
  if (!progress.passed && authority === "acts") await tidyConfig(dependencies);
  await saveConfigBeforeEdit(reading, { config: seen.config, isFirst: !progress.passed }, dependencies);
  if (judged.again) return { wakeInMs: 1 };
  const { planned, desired } = await planPass(reading, { resolution, doubtOfPlace }, seen, dependencies);
  const scheduled = beginScheduled(progress.schedule, seen, dependencies);
  const check = (request: UpgradeRequest) => checkUpgrade(request, dependencies, { isPreCopied: true });
  applyUpgrade(authority, seen, { ...dependencies, check });
  progress.step = `remembering what the node runs with in ${state.directory}`;
  await rememberRunning(reading, resolution, seen, dependencies);
  // Asked once a pass: what was adopted in the middle of one is done in the next.
  const idle = explainIdle(authority, state);
  progress.step = `writing ${configPath}`;
  const written = await write(planned, reading, { idle, judged, resolution }, seen, dependencies);
  if (written?.again === true) {
    // Another program that keeps writing node.conf has the node looked at again and again, and never further than this.
    watch.made();
    return { wakeInMs: 1 };
  }
  const isRestarting = seen.restarts.now().running !== undefined;
  const { stalledAfterMs } = settings.prune;
  applyPrune(planned, seen.prune, { idle, isRestarting, stalledAfterMs, signal: dependencies.signal }, dependencies);
  progress.step = `querying the driver ${dependencies.driver?.name ?? "none"} about the node`;
  const isPruning = () => seen.prune.now().running !== undefined;
  const question = { planned, reading, version, desired, authority, isPruning };
  const restart = await applyRestart(question, seen, dependencies);
  const looks = watchData(progress.data, seen, dependencies);
  progress.passed = true;
  watch.made();
  const waits = [judged.wakeInMs, written?.wakeInMs, restart.wakeInMs, scheduled, looks].filter(
    (ms) => ms !== undefined,
  );
  return waits.length === 0 ? {} : { wakeInMs: Math.min(...waits) };
}

/** Judges whether node.conf can be used. */
function judge(
  reading: ConfigReading,
  { authority, auditedThen }: Pick<CheckConfigOptions, "authority" | "auditedThen">,
  { config, restarts }: Pick<PassObservations, "config" | "restarts">,
  dependencies: PassDependencies,
): Promise<Judgement> {
  const { restoreAfterMs, configLimitBytes: limitBytes } = dependencies.settings.upkeep;
  const { clockThen } = dependencies;
  const isRestarting = restarts.now().running !== undefined;
  return checkConfig(
    reading,
    config,
    { authority, restoreAfterMs, limitBytes, clockThen, isRestarting, auditedThen },
    dependencies,
  );
}

/** Remembers what the node runs with before anything is changed: that is what there is to go back to. */
async function rememberRunning(
  reading: ConfigReading,
  { version }: VersionResolution,
  { config, process, restarts }: Pick<PassObservations, "config" | "process" | "restarts">,
  dependencies: PassDependencies,
): Promise<void> {
  const { settings, driver, health } = dependencies;
  const { contentHash } = config.now();
  await recordRunningConfig(reading, version, { config: config.now(), process, restarts }, dependencies);
  const isDone = driver !== undefined && settings.upkeep.mode !== "observe";
  const isUnreadNow = isUnread(process.now(), contentHash);
  await noteRollBack({ restarts: isDone, isUnread: isUnreadNow, facts: health.facts() }, restarts, dependencies);
}

/** Writes node.conf as planned where that is allowed, and notes how it is now. */
async function write(
  planned: Plan,
  reading: ConfigReading,
  {
    idle,
    judged,
    resolution,
  }: Readonly<{ idle: string | undefined; judged: Judgement; resolution: VersionResolution }>,
  { config }: Pick<PassObservations, "config">,
  dependencies: PassDependencies,
): Promise<AppliedConfig | undefined> {
  const { version } = resolution;
  const limitBytes = dependencies.settings.upkeep.configLimitBytes;
  const restored: AppliedConfig | undefined =
    judged.written === undefined ? undefined : { result: judged.written, again: false };
  const applied =
    idle === undefined && reading.ok
      ? await applyConfig(planned, reading, { config, version, limitBytes }, dependencies)
      : restored;
  await compareConfig(planned, reading, { applied, idle }, config, dependencies);
  return applied;
}

/** A change that came without an event means that the watch looks at something that is gone, e.g. a deleted directory. */
async function watchAnew(
  reading: ConfigReading,
  { passed }: PassProgress,
  config: ObservedConfig,
  place: NodePlace,
): Promise<void> {
  const isEvent = place.watch.takeEvent();
  if (passed && !isEvent && reading.contentHash !== config.now().contentHash) {
    await place.watch.renew(place.layout().configPath);
  }
}
