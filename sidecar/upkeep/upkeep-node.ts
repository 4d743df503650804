import { isAbsolute, join } from "node:path";
import type { Clock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { Logger } from "#daemon/log/log.ts";
import { createOutputFiles } from "#daemon/process/output-files.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { SidecarSettings } from "../settings.ts";
import { findNode } from "./config/node-location.ts";
import { createNodeProcesses } from "./drivers/host-processes.ts";
import { reachDriver, reachNodeCli, type NodeReach } from "./drivers/reached-node.ts";
import { selectDriver, selectNodeCli } from "./drivers/select-driver.ts";
import { createNodeRpc } from "../upgrade/node-rpc.ts";
import { observeNode } from "./version/node-observer.ts";

export type UpkeepNode = ReturnType<typeof reachNode>;

export type ReachNodeDependencies = Readonly<{
  health: HealthWatch;
  commits: () => ReleaseCommits;
  clock: Clock;
  events: EventLog;
  stateDirectory: string;
  log: Logger;
  signal: AbortSignal;
  /** Called with the reason why node_cli reports nothing, if it does not. */
  onTool: (report: ConditionReport<"Pruning"> | undefined) => void;
  wake: () => void;
}>;

/** @throws {StartupError} when the settings specify no node. */
export function reachNode(
  settings: SidecarSettings,
  { health, commits, clock, events, stateDirectory, log, signal, onTool, wake }: ReachNodeDependencies,
) {
  const connections = new AsyncDisposableStack();
  // Anything that may throw comes before anything that must be closed.
  const layout = () => place.layout();
  const binDirectory = () => layout().binDirectory;
  const { ops, compose, restart, nodeCli: cli } = settings;
  const started = {
    driver: [ops.stop, ops.start ?? [], compose.command, restart.checkCommand ?? []],
    nodeCli: [cli.command === undefined ? [] : [cli.command]],
  };
  const buildReach = (who: keyof typeof started): NodeReach => ({
    directory: binDirectory,
    fileDeadline: () => place.fileDeadline,
    programs: started[who].flatMap(([file = ""]) => (isAbsolute(file) ? [file] : [])),
    programDeadline: () => place.programDeadlines[who],
  });
  const tool = selectNodeCli(settings, layout, connections);
  const nodeCli = tool && reachNodeCli(tool, buildReach("nodeCli"));
  const { httpUrl } = settings.node;
  // Output of programs that may leave a process running.
  const { fileTimeoutMs: withinMs } = settings.upkeep;
  const deadline = createFileDeadline({ withinMs, signal }, { clock, onBack: wake });
  const output = connections.use(createOutputFiles(join(stateDirectory, "output"), { deadline, log }));
  const processName = () => layout().family.programs.process;
  const processes = createNodeProcesses({ httpUrl, binDirectory, processName });
  const driving = { output, processes, check: health.check, clock, events, log };
  const reaching = selectDriver(settings, layout, connections, driving);
  const driver = reaching && reachDriver(reaching, buildReach("driver"));
  const place = findNode(settings.node, settings.upkeep, { log, clock, signal, onEvent: wake });
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
    node: { httpUrl, answersWithinMs: settings.restart.answersWithinMs },
    rpc: createNodeRpc(httpUrl),
    references: settings.lag.references.map((url) => createNodeRpc(url)),
    holders: processes,
    output,
    [Symbol.asyncDispose]: async () => {
      await connections.disposeAsync();
      await place[Symbol.asyncDispose]();
    },
  };
}
