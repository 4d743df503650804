import type { Clock } from "#daemon/clock.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Logger } from "#daemon/log/log.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import type { GuardedNode } from "#gateway/guarded-node.ts";
import type { DiskCheck } from "#health/disk-watch.ts";
import type { EventLog } from "#status/event-log.ts";
import type { Verdict } from "#status/verdict.ts";
import type { SidecarSettings } from "../settings.ts";
import { createCommandText } from "../upkeep/command-text.ts";
import type { ControlView } from "../upkeep/control/control-responses.ts";
import type { Upkeep } from "../upkeep/upkeep.ts";
import { buildDeployment, type Deployment } from "./advice/deployment.ts";
import { sampleEveryMs } from "#gateway/page/history.ts";
import { createPageState, watchPageState } from "#gateway/page/page-state.ts";
import type { App } from "#daemon/http/app.ts";
import { describeNodePage, type NodePageOptions, type NodePageSources } from "#gateway/page/node-page.ts";
import type { Charts } from "#status/charts.ts";
import { addAssets, addText } from "#status/page/static-routes.ts";
import type { Condition } from "#status/condition.ts";
import { listSteps } from "./advice/advice.ts";
import { findRunbook } from "#status/runbook.ts";
import { listProgramFiles, readProgramFile } from "#daemon/files/program-files.ts";

const startingCheck: ReadinessCheck = { ok: false, message: "The sidecar is starting." };

type PageDependencies = Readonly<{
  guarded: GuardedNode;
  events: EventLog;
  verdict: () => Verdict;
  upkeep: () => Upkeep | undefined;
  url: () => string | undefined;
  stateDirectory: string;
  clock: Clock;
  log: Logger;
}>;

function listActions(view: ControlView | undefined, canRestart: boolean): readonly PageAction[] {
  if (view?.hold !== undefined) return ["resume"];
  if (view?.authority === "waits") return view.plan === undefined ? [] : ["adopt"];
  return view?.authority === "acts" && canRestart ? ["restart"] : [];
}

type StartedPage = AsyncDisposable & Readonly<{ onCheck: (check: DiskCheck) => void }>;

/** Adds the status, as JSON and as a page, to the sidecar's own listener, and starts tracking the state that the page shows. */
export function startPage(settings: SidecarSettings, dependencies: PageDependencies): StartedPage {
  const { guarded, events, clock, log, upkeep, verdict } = dependencies;
  const { board, charts, health, operations, traffic } = guarded;
  const pruningOldAfterMs = Math.max(3 * settings.prune.intervalMs, 3 * sampleEveryMs);
  const sources = { board, verdict, clock, health: health.current, charts, traffic, pruningOldAfterMs };
  const state = createPageState(sources);
  let disk: Readonly<{ check: DiskCheck; atMs: number }> | undefined;
  const command = createCommandText(settings.upkeep);
  const deployment = () =>
    buildDeployment(settings, {
      command,
      statusUrl: dependencies.url() ?? `http://127.0.0.1:${defaultPorts.sidecar.status}`,
      dataPath: upkeep()?.dataPath(),
      ...(upkeep()?.places() ?? { ops: undefined, configPath: undefined }),
    });
  const options = {
    name: settings.monitor.jobName ?? new URL(settings.node.httpUrl).host,
    httpUrl: settings.node.httpUrl,
    pages: settings.listen.pages,
    mode: settings.upkeep.mode,
    stillAfterMs: { heights: settings.health.staleAfterMs, pruning: settings.prune.stalledAfterMs },
  };
  const runbooks = readRunbooks();
  addStatusRoutes(operations, options, {
    ...sources,
    runbooks,
    events,
    state,
    deployment,
    figures: () => ({ restarts: upkeep()?.restarts(), disk }),
    withNodeNames: (value) => upkeep()?.withNodeNames(value) ?? value,
    configured: () => upkeep()?.configured() ?? startingCheck,
    plan: () => upkeep()?.control.view().plan,
    actions: () =>
      settings.upkeep.controlToken && listActions(upkeep()?.control.view(), settings.restart.driver !== "none"),
  });
  addPageRoutes(operations, runbooks);
  const watch = watchPageState(state, { log });
  return {
    onCheck: (check) => {
      disk = { check, atMs: clock.wallMs() };
    },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
}

export type UpkeepMode = "adopt" | "enforce" | "observe";

type StatusOptions = Omit<NodePageOptions, "service" | "blockOldAfterMs"> &
  Readonly<{
    mode: UpkeepMode;
    /** Times after which a value that has not changed is reported as unchanged. */
    stillAfterMs: Readonly<{ heights: number; pruning: number }>;
  }>;

/** Data sources for the status, all in memory; none queries the node. */
type StatusSources = Omit<NodePageSources, "advise"> &
  Readonly<{
    charts: Charts;
    deployment: () => Deployment;
    runbooks: Pick<ReadonlyMap<string, string>, "has">;
    /** Replaces the specification's file and tool names in strings with those of this node. */
    withNodeNames: <Value extends object>(value: Value) => Value;
    configured: () => ReadinessCheck;
    plan: () => Readonly<{ steps: readonly string[]; problems: readonly string[] }> | undefined;
    /** Actions that the page currently offers; undefined without a control token. */
    actions: () => readonly PageAction[] | undefined;
  }>;

type PageAction = "resume" | "adopt" | "restart";

export function addStatusRoutes(app: App, options: StatusOptions, sources: StatusSources): void {
  app.get("/startupz", (c) => {
    const state = sources.withNodeNames(sources.configured());
    return c.json({ status: state.ok ? "ok" : "unready", checks: { configured: state } }, state.ok ? 200 : 503);
  });
  app.get("/status", (c) =>
    c.json(sources.withNodeNames(buildStatus(options, sources)), 200, { "Cache-Control": "no-store" }),
  );
}

function buildStatus(options: StatusOptions, sources: StatusSources) {
  const { charts, plan, deployment, runbooks } = sources;
  const { mode, stillAfterMs } = options;
  const page = { ...options, service: "sidecar", blockOldAfterMs: stillAfterMs.heights } as const;
  const commands = deployment();
  const advise = (cause: Condition) => {
    const runbook = findRunbook(cause);
    return {
      steps: listSteps(cause, commands),
      ...(runbooks.has(runbook) ? { runbook: `/runbooks/${runbook}` } : {}),
      // The page shows the plan itself.
      ...(cause.reason === "WaitingForApproval" ? { message: "Gatehouse has changed nothing yet." } : {}),
    };
  };
  const status = describeNodePage(page, { ...sources, advise });
  return {
    ...status,
    healthy: status.verdict.level === "healthy",
    runbooks: runbooks.has("README.md"),
    mode,
    plan: plan(),
    actions: sources.actions(),
    charts: {
      heights: charts.heights.list(),
      prunable: charts.prunable.list(),
      pruned: charts.pruned.list(),
      stillAfterMs,
    },
  };
}

export function addPageRoutes(app: App, runbooks: ReadonlyMap<string, string>): void {
  addAssets(app, "status/page/assets");
  for (const [name, text] of runbooks) addText(app, `/runbooks/${name}`, text);
}

/** Reads the runbooks, keyed by file name. They are included in the package, the image and the executable; without them, returns none. */
export function readRunbooks(): ReadonlyMap<string, string> {
  const names = listProgramFiles("docs/runbooks").filter((name) => name.endsWith(".md"));
  return new Map(names.map((name) => [name, readProgramFile("docs/runbooks", name)]));
}
