import type { ServiceContext } from "#daemon/service.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log.ts";
import { bootTime } from "#daemon/boot-time.ts";
import { authorityOf } from "./adoption/authority.ts";
import { clockNow } from "./clock-then.ts";
import { commandWords } from "./command-words.ts";
import { upkeepControl, type UpkeepControl } from "./control/upkeep-control.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/request.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { SidecarSettings } from "../settings.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { configVersions } from "./config/config-versions.ts";
import { correctionRate } from "./config/correction-rate.ts";
import { versionsWithDeadline } from "./config/versions-with-deadline.ts";
import { maintenanceWindow } from "./restart/maintenance-window.ts";
import { reachedDriver, reachedNodeCli, type NodeReach } from "./drivers/reached-node.ts";
import { selectDriver, selectNodeCli } from "./drivers/select-driver.ts";
import { dataPathOf } from "#node/conf/data-path.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { findNode } from "./config/node-place.ts";
import { observeNode } from "./version/node-observer.ts";
import { createPassMetrics } from "./pass-metrics.ts";
import { watchPasses } from "./pass-watch.ts";
import { pass } from "./pass.ts";
import { startReconcileLoop, type ReconcileLoop } from "./reconcile-loop.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { watchNodePushes } from "./pushgateway/node-pushes.ts";
import { createUpkeepMetrics } from "./upkeep-metrics.ts";
import type { UpkeepMemory, UpkeepParts } from "./upkeep-parts.ts";

/** What the upkeep of a node works with. */
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
  /** Is told of each restart, so that a stop lets its command end. */
  finishes: ServiceContext["finishes"];
}>;

/** The upkeep of one node. Disposing of it ends the passes; a restart command that runs is waited for. */
export type Upkeep = AsyncDisposable &
  Readonly<{
    /** Whether the configuration is right, so that the node may start. */
    configured: () => ReadinessCheck;
    wake: () => void;
    /** The directory of the node's data; undefined until node.conf or the settings say where it is. */
    dataPath: () => string | undefined;
    /** Whether the sidecar may change anything now: it has been told to, and no hold is in force. */
    mayAct: () => boolean;
    /** What a person may ask of it and tell it. */
    control: UpkeepControl;
  }>;

/**
 * Keeps one node right: its configuration, pruning and restarts.
 *
 * @throws {StartupError} when the settings name no node.
 */
export function startUpkeep(settings: SidecarSettings, dependencies: UpkeepDependencies): Upkeep {
  const { log, clock, state, board, health } = dependencies;
  const stopping = new AbortController();
  const { signal } = stopping;
  const memory = emptyMemory();
  const window = maintenanceWindow(settings.restart);
  const wake = () => loop.wake();
  const connections = new AsyncDisposableStack();
  // What may throw comes before what has to be ended.
  const layout = () => place.layout();
  const reach: NodeReach = { directory: () => layout().binDirectory, patience: () => place.patience };
  const tool = selectNodeCli(settings, layout, connections);
  const nodeCli = tool && reachedNodeCli(tool, reach);
  const reaching = selectDriver(settings, layout, connections);
  const driver = reaching && reachedDriver(reaching, reach);
  const place = findNode(settings.node, settings.upkeep, { log, clock, signal, onEvent: wake });
  const observer = observeNode(
    { ...settings.node, intervalMs: settings.prune.intervalMs, signal },
    { nodeCli, health: health.current, clock, board, log, onChange: wake },
  );
  const pushes = watchNodePushes(settings, memory, { ...dependencies, version: observer.version, signal });
  // Held from the start, so that no other sidecar begins beside this one; what is wrong with it is told when it is needed.
  if (settings.upkeep.mode !== "observe") place.lock().acquire();
  const mayAct = () => authorityOf(settings.upkeep.mode, state) === "acts" && state.hold.get() === undefined;
  const stateDeadline = createFileDeadline(
    { withinMs: settings.upkeep.fileTimeoutMs, setting: "upkeep.fileTimeoutMs", signal },
    { clock, onBack: wake },
  );
  const parts: UpkeepParts = {
    ...dependencies,
    clockThen: clockNow(clock),
    settings,
    place,
    stateDeadline,
    observer,
    nodeCli,
    driver,
    lastPush: pushes?.lastPush,
    versions: versionsWithDeadline(configVersions(state.directory), state.directory, stateDeadline),
    command: commandWords(settings.upkeep, state.directory),
    budget: createRestartBudget(
      { perHour: settings.restart.budgetPerHour },
      { store: state.store, clock, boot: bootTime },
    ),
    window,
    rate: correctionRate(clock),
    metrics: createUpkeepMetrics(dependencies.metrics),
    registry: dependencies.metrics,
    signal,
    wake,
  };
  parts.metrics.commands(parts.command);
  const dataPath = () =>
    memory.document && dataPathOf(settings.node.dataPath, place.layout().configPath, memory.document.value);
  // The first pass waits for what the RPC says of the version.
  void health.looked.then(wake);
  const loop = startPasses(memory, parts);
  return {
    wake,
    dataPath,
    mayAct,
    configured: () => configured(memory, parts),
    control: upkeepControl(memory, parts),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([loop.done, observer.done, pushes?.done, memory.restart, memory.pruning]);
      await connections.disposeAsync();
      await place[Symbol.asyncDispose]();
    },
  };
}

function startPasses(memory: UpkeepMemory, parts: UpkeepParts): ReconcileLoop {
  const { settings, board, clock, log, signal } = parts;
  const { rereadIntervalMs: maxIdleMs, passDeadlineMs: deadlineMs } = settings.upkeep;
  const watch = watchPasses({ deadlineMs }, { board, clock, metrics: createPassMetrics(parts.registry) });
  const waitsFor = () => memory.step;
  return startReconcileLoop({ maxIdleMs, deadlineMs, signal }, () => pass(memory, parts, watch), {
    log,
    watch,
    waitsFor,
  });
}

function emptyMemory(): UpkeepMemory {
  return {
    version: undefined,
    contentHash: undefined,
    contentSinceMs: 0,
    lookedAtMs: undefined,
    otherAtMs: 0,
    problemReason: undefined,
    mayTellVersion: false,
    configCurrent: undefined,
    document: undefined,
    previousMeaning: undefined,
    pruneProgress: undefined,
    chartedPruneInfo: undefined,
    goodHash: undefined,
    goodNotKept: undefined,
    corrected: [],
    kept: undefined,
    stood: undefined,
    advancing: undefined,
    startAsked: undefined,
    started: undefined,
    checked: undefined,
    prunedOn: undefined,
    unwellSinceMs: undefined,
    silence: undefined,
    processWasSeen: false,
    processMissedAtMs: undefined,
    startingUntilMs: undefined,
    restartStage: undefined,
    restart: undefined,
    step: "beginning",
    pruning: undefined,
    plan: undefined,
    passed: false,
  };
}

/** Nothing but the started node can tell: held back for its version, it would be so for ever. */
const tellsItself =
  "The node's version is not known; node.conf is right for a node of some version, so it may start and tell. To have the names of the keys judged before, set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).";
const heldBack =
  "node.conf needs changes under the names of any version, so the node is held back where it waits for /startupz, and can't tell its version itself.";

function configured(memory: UpkeepMemory, { settings, state }: UpkeepParts): ReadinessCheck {
  if (!memory.passed) return { ok: false, message: "The configuration has not been looked at yet." };
  const condition = memory.configCurrent;
  const authority = authorityOf(settings.upkeep.mode, state);
  if (authority === "observes") return { ok: true, message: "upkeep.mode is observe." };
  // A node that is held back until a person has said a word may never start: in a pod, the sidecar would be restarted meanwhile.
  if (authority === "waits")
    return { ok: true, message: "The sidecar changes nothing before gatehouse adopt is said." };
  if (state.hold.get() !== undefined) return { ok: true, message: "A hold is in force." };
  if (memory.mayTellVersion) return { ok: true, message: tellsItself };
  const message = condition?.message ?? "node.conf can't be used yet.";
  if (condition?.reason === "VersionUnknown") return { ok: false, message: `${message} ${heldBack}` };
  return { ok: condition?.status === "True", message };
}
