import type { ServiceContext } from "#daemon/service.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import { bootTime, type Clock } from "#daemon/clock.ts";
import { decideAuthority } from "./adoption/authority.ts";
import { observeAdoption } from "./adoption/adoption-observation.ts";
import { readClocks } from "./clock-then.ts";
import { createCommandWords, type CommandWords } from "./command-words.ts";
import { createUpkeepControl, type UpkeepControl } from "./control/upkeep-control.ts";
import type { SendRequest } from "#daemon/http/request.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { SidecarSettings } from "../settings.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { deriveConditions } from "./conditions.ts";
import { observeConfig } from "./config/config-observation.ts";
import { judgeConfigured } from "./configured.ts";
import { observePruning } from "./prune/prune-observation.ts";
import { observeProcess, observeRestarts } from "./restart/restart-observation.ts";
import { observeState } from "./state/state-observation.ts";
import { observeVersion } from "./version/version-observation.ts";
import { createConfigVersions } from "./config/config-versions.ts";
import { createEditRate } from "./config/audited-config.ts";
import { createCorrectionRate } from "./config/correction-rate.ts";
import { limitVersions } from "./config/with-deadline.ts";
import { createMaintenanceWindow } from "./restart/maintenance-window.ts";
import { reachDriver, reachNodeCli, type NodeReach } from "./drivers/reached-node.ts";
import { selectDriver, selectNodeCli } from "./drivers/select-driver.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { NodeVersion } from "#node/versions.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { findNode } from "./config/node-place.ts";
import { observeNode } from "./version/node-observer.ts";
import { createPassMetrics, createUpkeepMetrics } from "./upkeep-metrics.ts";
import { watchPasses } from "./pass-watch.ts";
import { runPass, type PassDependencies, type PassObservations, type PassProgress } from "./pass.ts";
import { startReconcileLoop, type ReconcileLoop } from "./reconcile-loop.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { createNodeRpc } from "./upgrade/node-rpc.ts";
import { createPortHolders } from "./upgrade/node-power.ts";
import { observeData } from "./corruption/data-observation.ts";
import { listUpgradeWork, observeUpgrade } from "./upgrade/upgrade-observation.ts";
import { watchNodePushes } from "./pushgateway/node-pushes.ts";

export type UpkeepDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  clock: Clock;
  ask: SendRequest;
  state: UpkeepState;
  events: EventLog;
  charts: Charts;
  board: ConditionBoard;
  health: HealthWatch;
  /** Called for each restart, so that a stop lets its command end. */
  finishes: ServiceContext["finishes"];
}>;

/** The upkeep of one node. Disposing of it ends the passes; a restart command that runs is waited for. */
export type Upkeep = AsyncDisposable &
  Readonly<{
    /** Whether the configuration is right, so that the node may start. */
    configured: () => ReadinessCheck;
    wake: () => void;
    /** The node's version; undefined until it is known. */
    version: () => NodeVersion | undefined;
    /** The directory of the node's data; undefined until node.conf or the settings say where it is. */
    dataPath: () => string | undefined;
    /** Where the node's programs and node.conf are. */
    places: () => Readonly<{ binDirectory: string; configPath: string }>;
    /** Restarts of the last hour, and how many an hour may have. */
    restarts: () => Readonly<{ used: number; perHour: number }>;
    /** Whether the sidecar may change anything now: it has been told to, and no hold is in force. */
    mayAct: () => boolean;
    /** What a person may request of it. */
    control: UpkeepControl;
  }>;

/**
 * Keeps one node right: its configuration, pruning and restarts.
 *
 * @throws {StartupError} when the settings name no node.
 */
export function startUpkeep(settings: SidecarSettings, dependencies: UpkeepDependencies): Upkeep {
  const { log, clock, state, board, health } = dependencies;
  const { mode, fileTimeoutMs } = settings.upkeep;
  const stopping = new AbortController();
  const { signal } = stopping;
  const wake = () => loop.wake();
  const connections = new AsyncDisposableStack();
  const window = createMaintenanceWindow(settings.restart);
  // What may throw comes before what has to be ended.
  const layout = () => place.layout();
  const reach: NodeReach = { directory: () => layout().binDirectory, fileDeadline: () => place.fileDeadline };
  const tool = selectNodeCli(settings, layout, connections);
  const nodeCli = tool && reachNodeCli(tool, reach);
  const reaching = selectDriver(settings, layout, connections);
  const driver = reaching && reachDriver(reaching, reach);
  const place = findNode(settings.node, settings.upkeep, { log, clock, signal, onEvent: wake });
  const observer = observeNode(
    { ...settings.node, intervalMs: settings.prune.intervalMs, signal },
    { nodeCli, health: health.current, clock, board, log, onChange: wake },
  );
  const command = createCommandWords(settings.upkeep, state.directory);
  const seen = observeAll(state, settings, command, board);
  const document = () => seen.config.now().document;
  const pushes = watchNodePushes(settings, document, { ...dependencies, version: observer.version, signal });
  // Held from the start, so that no other sidecar begins alongside this one; what is wrong with it is reported when it is needed.
  if (mode !== "observe") place.lock().acquire();
  const authority = () => decideAuthority(mode, state);
  const isHeld = () => state.hold.get() !== undefined;
  const stateDeadline = createFileDeadline(
    { withinMs: fileTimeoutMs, setting: "upkeep.fileTimeoutMs", signal },
    { clock, onBack: wake },
  );
  const versions = limitVersions(createConfigVersions(state.directory), state.directory, stateDeadline);
  const budget = openBudget(settings, { state, clock });
  const node = { httpUrl: settings.node.httpUrl, answersWithinMs: settings.restart.answersWithinMs };
  const rate = createCorrectionRate(clock);
  const edits = createEditRate(clock);
  const metrics = createUpkeepMetrics(dependencies.metrics);
  metrics.commands(command);
  const reached = {
    place,
    observer,
    nodeCli,
    driver,
    node,
    lastPush: pushes?.lastPush,
    ...createProbes(settings, reach),
  };
  const isRestarting = () => seen.restarts.now().running !== undefined;
  const kept = { state, stateDeadline, versions, budget, rate, edits, window, command, authority, isRestarting };
  const means = { ...dependencies, ...reached, ...kept, settings, metrics, clockThen: readClocks(clock), signal, wake };
  const progress: PassProgress = { step: "beginning", passed: false, schedule: {}, data: {} };
  // The first pass waits for what the RPC says of the version.
  void health.looked.then(wake);
  const loop = startPasses(progress, seen, means, dependencies);
  return {
    wake,
    version: () => observer.version().version,
    dataPath: () => dataPathIn(document(), settings, layout().configPath),
    places: layout,
    restarts: () => ({ used: budget.used(), perHour: settings.restart.budgetPerHour }),
    mayAct: () => authority() === "acts" && !isHeld(),
    configured: () =>
      judgeConfigured({ passed: progress.passed, authority: authority(), isHeld: isHeld(), config: seen.config.now() }),
    control: createUpkeepControl({ ...listFound(seen), document, isRestarting }, means),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([loop.done, observer.done, pushes?.done, ...listRunning(seen)]);
      await connections.disposeAsync();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** What is asked of the node and of the references besides their health, and who runs the node. */
function createProbes({ node, lag }: SidecarSettings, { directory }: Pick<NodeReach, "directory">) {
  const references = lag.references.map((url) => createNodeRpc(url));
  return { rpc: createNodeRpc(node.httpUrl), references, holders: createPortHolders(node.httpUrl, directory) };
}

function openBudget({ restart }: SidecarSettings, { state, clock }: Pick<UpkeepDependencies, "state" | "clock">) {
  return createRestartBudget({ perHour: restart.budgetPerHour }, { store: state.store, clock, boot: bootTime });
}

/** What a person may look at. */
function listFound({ adoption, config, upgrade }: PassObservations) {
  return { plan: () => adoption.now().plan, config, upgrade };
}

/** What goes on alongside the passes. */
function listRunning({ restarts, prune, upgrade, data }: PassObservations) {
  return [restarts.now().running, prune.now().running, ...listUpgradeWork(upgrade.now()), data.now().looking];
}

/** Nothing is known yet; each change is said on the board at once. */
function observeAll(
  { directory, upgrade, scheduledUpgrade }: UpkeepState,
  { upkeep, restart, upgrade: { autoRestore } }: SidecarSettings,
  command: CommandWords,
  board: ConditionBoard,
): PassObservations {
  const words = { mode: upkeep.mode, driver: restart.driver, command };
  const say = () => {
    const found = {
      state: seen.state.now(),
      version: seen.version.now(),
      config: seen.config.now(),
      adoption: seen.adoption.now(),
      prune: seen.prune.now(),
      restarts: seen.restarts.now(),
      upgrade: seen.upgrade.now(),
      data: seen.data.now(),
    };
    for (const condition of deriveConditions(found, words)) board.set(condition);
  };
  const seen = {
    state: observeState(directory, say),
    version: observeVersion(say),
    config: observeConfig(say),
    adoption: observeAdoption(say),
    prune: observePruning(say),
    process: observeProcess(),
    restarts: observeRestarts(say),
    upgrade: observeUpgrade(upgrade.get(), scheduledUpgrade.get(), say),
    data: observeData(autoRestore === "off", say),
  };
  return seen;
}

function startPasses(
  progress: PassProgress,
  seen: PassObservations,
  means: PassDependencies,
  { board, metrics }: Pick<UpkeepDependencies, "board" | "metrics">,
): ReconcileLoop {
  const { settings, clock, log, signal } = means;
  const { rereadIntervalMs: maxIdleMs, passDeadlineMs: deadlineMs } = settings.upkeep;
  const watch = watchPasses({ deadlineMs }, { board, clock, metrics: createPassMetrics(metrics) });
  const waitsFor = () => progress.step;
  return startReconcileLoop({ maxIdleMs, deadlineMs, signal }, () => runPass(progress, seen, means, watch), {
    log,
    watch,
    waitsFor,
  });
}

/** Where the node's data are, as the last node.conf that could be used says. */
function dataPathIn(
  document: ConfigDocument | undefined,
  { node }: SidecarSettings,
  configPath: string,
): string | undefined {
  return document && findDataPath(node.dataPath, configPath, document.value);
}
