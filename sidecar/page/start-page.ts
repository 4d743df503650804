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
import { buildDeployment } from "./advice/deployment.ts";
import { readRunbooks } from "./advice/runbooks.ts";
import { addPageRoutes, addStatusRoutes, type PageAction } from "./status-routes.ts";
import { sampleEveryMs } from "#gateway/page/history.ts";
import { createPageState, watchPageState } from "#gateway/page/page-state.ts";

const startingCheck: ReadinessCheck = { ok: false, message: "The sidecar is starting." };

export type PageDependencies = Readonly<{
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

export type StartedPage = AsyncDisposable & Readonly<{ onCheck: (check: DiskCheck) => void }>;

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
    stillAfterMs: { heights: settings.health.staleAfterMs, pruning: settings.prune.stillAfterMs },
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
