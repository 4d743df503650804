import { isAbsolute, join } from "node:path";
import type { Registry } from "prom-client";
import { bootTime, type Clock, readClocks } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { createOutputFiles } from "../programs/output-files.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { knownCommits, listImageCommits, type ReleaseCommits } from "#node/versions.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "../settings.ts";
import { createNodeRpc } from "../upgrade/node-rpc.ts";
import { decidePermissions } from "./adoption/authority.ts";
import { createCommandText } from "./command-text.ts";
import { createConfigVersions } from "./config/config-versions.ts";
import { createCorrectionRate, createEditRate } from "./config/correction-rate.ts";
import { findNode } from "./config/node-location.ts";
import { createNodeProcesses } from "./drivers/host-processes.ts";
import { guardDriver, guardNodeCli } from "./drivers/guarded-driver.ts";
import { formatRestartCommand } from "./drivers/ops-location.ts";
import { selectDriver, selectNodeCli } from "./drivers/select-driver.ts";
import { observeAll, type Observations } from "./observations.ts";
import { buildPushIdentity } from "./pushgateway/evaluate-pushes.ts";
import { createMaintenanceWindow } from "./restart/restart-decision.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import { findUpgradedCommit } from "./state/upgrade-record.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { createUpkeepMetrics } from "./upkeep-metrics.ts";
import { observeNode } from "./version/node-observer.ts";

export type UpkeepDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  clock: Clock;
  send: SendRequest;
  state: UpkeepState;
  events: EventLog;
  charts: Charts;
  board: ConditionBoard;
  health: HealthWatch;
  listedCommits: () => ReleaseCommits;
  /** Called for each restart, so that a shutdown waits for the restart's command to finish. */
  finishes: ServiceContext["finishes"];
}>;

export type UpkeepParts = Awaited<ReturnType<typeof createUpkeepParts>>;

/**
 * Creates the parts of one upkeep: its node, observations, rates and authority. `signal` aborts when the upkeep stops; `wake`: requests a
 * reconcile.
 *
 * @throws {StartupError} when the settings specify no node.
 */
export async function createUpkeepParts(
  settings: SidecarSettings,
  dependencies: UpkeepDependencies,
  signal: AbortSignal,
  wake: () => void,
) {
  const { state, clock, board, metrics } = dependencies;
  const { mode, fileTimeoutMs: withinMs } = settings.upkeep;
  const command = createCommandText(settings.upkeep);
  const restartCommand = () => formatRestartCommand(settings, node.place.layout());
  const seen = observeAll(state, { mode, command, restartCommand }, board);
  const { url, ...pushing } = settings.pushgateway;
  const node = await reachNode(settings, dependencies, seen, signal, wake);
  const identity = () => buildPushIdentity(seen.config.now().document, node.observer.version().version);
  const pushes =
    url === undefined
      ? undefined
      : (await import("./pushgateway/push-watch.ts")).watchPushes(
          { ...pushing, url, signal },
          { ...dependencies, identity },
        );
  const stateDeadline = createFileDeadline({ withinMs, signal }, { clock, onBack: wake });
  return {
    ...dependencies,
    ...node,
    ...seen,
    settings,
    seen,
    command,
    signal,
    wake,
    rpc: createNodeRpc(settings.node.httpUrl),
    references: settings.lag.references.map((reference) => createNodeRpc(reference)),
    lastPush: pushes?.lastPush,
    clockAtStart: readClocks(clock),
    metrics: createUpkeepMetrics(metrics),
    stateDeadline,
    versions: createConfigVersions(state.directory, stateDeadline),
    budget: createRestartBudget(
      { perHour: settings.restart.budgetPerHour },
      { store: state.store, clock, boot: bootTime },
    ),
    /** Rate at which node.conf is corrected; `edits` is the rate of external edits. */
    rate: createCorrectionRate(clock),
    edits: createEditRate(clock),
    window: createMaintenanceWindow(settings.restart),
    authority: () => decidePermissions(mode, state),
    isPruning: () => seen.prune.now().running !== undefined,
    isRestarting: () => seen.restarts.now().running !== undefined,
    watching: Promise.all([node.observer.done, pushes?.done]),
  };
}

async function reachNode(
  settings: SidecarSettings,
  { state, clock, log, health, events, listedCommits }: UpkeepDependencies,
  seen: Observations,
  signal: AbortSignal,
  wake: () => void,
) {
  const connections = new AsyncDisposableStack();
  // Everything that may throw comes before anything that must be closed.
  const layout = () => place.layout();
  const binDirectory = () => layout().binDirectory;
  const fileDeadline = () => place.fileDeadline;
  const { ops, compose, nodeCli: cli } = settings;
  const started = {
    driver: [ops.stop, ops.start ?? [], [ops.directory ?? ""], compose.command],
    nodeCli: [cli.command === undefined ? [] : [cli.command]],
  };
  /** Programs with an absolute path may be on a different file system than the bin directory. */
  const reachedPaths = (who: keyof typeof started) => () => [
    [binDirectory(), fileDeadline()] as const,
    ...started[who].flatMap(([file = ""]) => (isAbsolute(file) ? [[file, place.programDeadlines[who]] as const] : [])),
  ];
  const tool = await selectNodeCli(settings, layout, connections);
  const nodeCli = tool && guardNodeCli(tool, reachedPaths("nodeCli"));
  const { httpUrl, image } = settings.node;
  // Output of programs that may leave a process running.
  const deadline = createFileDeadline({ withinMs: settings.upkeep.fileTimeoutMs, signal }, { clock, onBack: wake });
  const output = connections.use(createOutputFiles(join(state.directory, "output"), { deadline, log }));
  const processName = () => layout().family.programs.process;
  const holders = createNodeProcesses({ httpUrl, binDirectory, fileDeadline, processName });
  const driving = { output, processes: holders, check: health.check, clock, events, log };
  const reaching = await selectDriver(settings, layout, connections, driving);
  const driver = reaching && guardDriver(reaching, reachedPaths("driver"), () => place.programDeadlines.problem);
  const place = findNode(settings.node, settings.upkeep, { log, clock, signal, onEvent: wake });
  /** The operator's list precedes the last upgrade, which precedes the image's tag and the known releases. */
  const commits = (): ReleaseCommits => ({
    ...knownCommits,
    ...listImageCommits(image),
    ...findUpgradedCommit(state.upgrade.get()),
    ...listedCommits(),
  });
  const onTool = (report: ConditionReport<"Pruning"> | undefined) => seen.prune.note({ tool: report });
  const observer = observeNode(
    { ...settings.node, toolCommand: cli.command, intervalMs: settings.prune.intervalMs, signal },
    { nodeCli, health: health.current, commits, clock, log, onTool, onChange: wake },
  );
  return {
    place,
    observer,
    commits,
    nodeCli,
    driver,
    holders,
    [Symbol.asyncDispose]: async () => {
      await connections.disposeAsync();
      await place[Symbol.asyncDispose]();
    },
  };
}
