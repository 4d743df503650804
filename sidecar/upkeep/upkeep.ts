import { createCommandText } from "./command-text.ts";
import { createUpkeepControl } from "./control/upkeep-control.ts";
import type { SidecarSettings } from "../settings.ts";
import { findOpsLocation } from "./drivers/ops-location.ts";
import { checkConfigured } from "./configured.ts";
import { createUpkeepParts, type UpkeepDependencies } from "./upkeep-parts.ts";
import { listRunning, observeAll } from "./observations.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import { withNodeNames } from "#node/node-names.ts";
import { knownCommits, listImageCommits, type ProgramIdentity, type ReleaseCommits } from "#node/versions.ts";
import { createIterationMetrics } from "./upkeep-metrics.ts";
import { watchIterations } from "./iteration-watch.ts";
import { runIteration, type IterationProgress } from "./iteration.ts";
import { createIterationSteps } from "./iteration-steps.ts";
import { startReconcileLoop } from "./reconcile-loop.ts";
import { findUpgradedCommit } from "./state/upgrade-record.ts";
import { reachNode, type ReachNodeDependencies } from "./upkeep-node.ts";
import { buildPushIdentity } from "./pushgateway/push-identity.ts";
import { watchPushes } from "./pushgateway/push-watch.ts";

/** Upkeep of one node. Disposing of it stops the iterations and waits for a running restart command. */
export type Upkeep = ReturnType<typeof startUpkeep>;

/**
 * Reconciles one node: its configuration, pruning and restarts.
 *
 * @throws {StartupError} when the settings specify no node.
 */
export function startUpkeep(settings: SidecarSettings, dependencies: UpkeepDependencies) {
  const { log, clock, state, board, health } = dependencies;
  const stopping = new AbortController();
  const { signal } = stopping;
  const wake = () => loop.wake();
  const commits = () => listKnownCommits(settings, dependencies);
  const command = createCommandText(settings.upkeep);
  const seen = observeAll(state, settings, command, board);
  const onTool: ReachNodeDependencies["onTool"] = (tool) => seen.prune.note({ tool });
  const { directory: stateDirectory } = state;
  const node = reachNode(settings, { ...dependencies, commits, stateDirectory, signal, onTool, wake });
  const { place, observer } = node;
  const document = () => seen.config.now().document;
  const { url } = settings.pushgateway;
  const identity = () => buildPushIdentity(document(), observer.version().version);
  const pushing = { ...settings.pushgateway, signal };
  const pushes = url === undefined ? undefined : watchPushes({ ...pushing, url }, { ...dependencies, identity });
  // Acquired at startup, so that no other sidecar starts in parallel. A problem with the lock is reported only when the lock is needed.
  if (settings.upkeep.mode !== "observe") place.lock().acquire();
  const parts = createUpkeepParts(settings, dependencies, {
    node,
    seen,
    command,
    lastPush: pushes?.lastPush,
    signal,
    wake,
  });
  const { authority } = parts;
  const isHeld = () => state.hold.get() !== undefined;
  parts.metrics.commands(command);
  const progress: IterationProgress = { step: "beginning", passed: false };
  // The first iteration waits for the version that the RPC reports.
  void health.firstCheckDone.then(wake);
  const steps = createIterationSteps(seen, parts);
  const { rereadIntervalMs: maxIdleMs, passDeadlineMs: deadlineMs } = settings.upkeep;
  const watch = watchIterations({ deadlineMs }, seen.iterations, {
    clock,
    metrics: createIterationMetrics(dependencies.metrics),
  });
  const loop = startReconcileLoop({ maxIdleMs, deadlineMs, signal }, () => runIteration(progress, steps, watch), {
    log,
    watch,
    waitsFor: () => progress.step,
  });
  return {
    wake,
    /** Replaces file names in a value's strings with the names of the node's own files. */
    withNodeNames: <Value extends object>(value: Value) => withNodeNames(value, place.layout()),
    /** Returns the node's version and commit, if known. */
    program: (): ProgramIdentity => observer.version(),
    /** Returns the directory that holds the node's data; undefined until node.conf or the settings specify it. */
    dataPath: () => {
      const { value } = document() ?? {};
      return value && findDataPath(settings.node.dataPath, place.layout().pathsDirectory, value);
    },
    /** Returns the node's family and the paths of its programs and node.conf. */
    places: () => ({ ...place.layout(), ops: findOpsLocation(settings, place.layout()) }),
    /** Returns the number of restarts in the last hour, and the limit. */
    restarts: () => ({ used: parts.budget.used(), perHour: settings.restart.budgetPerHour }),
    /** Whether the sidecar may make changes now: it has the authority, and no pause is active. */
    mayAct: () => authority() === "acts" && !isHeld(),
    /** Whether the configuration is right, so that the node may start. */
    configured: () =>
      checkConfigured({ passed: progress.passed, authority: authority(), isHeld: isHeld(), config: seen.config.now() }),
    /** Requests available to the operator. */
    control: createUpkeepControl(seen, parts),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([loop.done, observer.done, pushes?.done, ...listRunning(seen)]);
      await node[Symbol.asyncDispose]();
    },
  };
}

/**
 * Lists the releases that commits belong to. The operator's list takes precedence over the last upgrade, which takes precedence over the
 * image's tag and the known releases.
 */
function listKnownCommits(
  { node }: SidecarSettings,
  { state, listedCommits }: Pick<UpkeepDependencies, "state" | "listedCommits">,
): ReleaseCommits {
  return {
    ...knownCommits,
    ...listImageCommits(node.image),
    ...findUpgradedCommit(state.upgrade.get()),
    ...listedCommits(),
  };
}
