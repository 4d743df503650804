import type { App } from "#daemon/http/app.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { describeNodeStatus, type NodeStatusSources, type ReportedNode } from "#health/node-status.ts";
import type { Charts } from "#status/charts.ts";
import type { EventLog } from "#status/event-log.ts";
import type { UpkeepMode, Verdict } from "#status/verdict.ts";
import type { Deployment } from "./advice/deployment.ts";
import { buildFigures, type FigureSources } from "./figures.ts";
import type { PageState } from "./page-state.ts";
import { describeIncident, type Runbooks } from "./described-incidents.ts";
import { renderRunbook } from "./runbook-page.ts";
import { addAssets, addReadable } from "./static-routes.ts";

/** Node of the status, and settings of its page. */
export type StatusOptions = ReportedNode &
  Readonly<{
    mode: UpkeepMode;
    /** Times from which a value that does not move is called unchanged. */
    stillAfterMs: Readonly<{ heights: number; pruning: number }>;
  }>;

/** Sources of the status. All of it is read from state; nothing queries the node. */
export type StatusSources = NodeStatusSources &
  Readonly<{
    verdict: () => Verdict;
    events: EventLog;
    charts: Charts;
    state: PageState;
    /** The commands of this deployment. */
    deployment: () => Deployment;
    runbooks: Runbooks;
    figures: () => Pick<FigureSources, "restarts" | "disk">;
    /** Whether the configuration is right, for `/startupz`. */
    configured: () => ReadinessCheck;
    /** Changes that the sidecar would make, or is about to; undefined until it has looked. */
    plan: () => Readonly<{ steps: readonly string[]; problems: readonly string[] }> | undefined;
    /** Actions that the page offers now; undefined without a control token. */
    actions: () => readonly PageAction[] | undefined;
  }>;

/** Action of a person on the page; each is a route under `/control`. */
export type PageAction = "resume" | "adopt" | "restart";

/** The disk is looked at once a minute. */
const diskOldAfterMs = 150_000;

/** Adds `GET /status` (conditions, health and events as JSON) and `GET /startupz` (200 once the configuration is right). */
export function addStatusRoutes(app: App, options: StatusOptions, sources: StatusSources): void {
  app.get("/startupz", (c) => {
    const state = sources.configured();
    return c.json({ status: state.ok ? "ok" : "unready", checks: { configured: state } }, state.ok ? 200 : 503);
  });
  app.get("/status", (c) => c.json(buildStatus(options, sources), 200, { "Cache-Control": "no-store" }));
}

function buildStatus(options: StatusOptions, sources: StatusSources) {
  const { events, charts, plan, state, deployment, runbooks } = sources;
  const verdict = sources.verdict();
  const { headline, incidents } = state.look();
  const commands = deployment();
  return {
    ...describeNodeStatus(options, sources),
    right: verdict.level === "right",
    verdict,
    headline: { ...headline, ...findSince(state, headline.state, sources.board) },
    incidents: incidents.map((incident) => describeIncident(incident, { deployment: commands, runbooks })),
    figures: readFigures(options, sources),
    traffic: state.history.traffic(),
    mode: options.mode,
    plan: plan(),
    actions: sources.actions(),
    events: events.list(),
    history: { ranges: state.history.ranges(), outages: state.outages.list() },
    charts: {
      heights: charts.heights.list(),
      prunable: charts.prunable.list(),
      pruned: charts.pruned.list(),
      stillAfterMs: options.stillAfterMs,
    },
  };
}

/** Finds the start of the present state. A node has been down since it last served, whatever was tried meanwhile; a hold is dated by its condition. */
function findSince({ outages }: PageState, state: string, board: StatusSources["board"]) {
  const last = outages.list().at(-1);
  const hold = state === "Held" ? board.get("Unheld") : undefined;
  if (hold !== undefined) return { since: hold.since, beganEarlier: false };
  const began =
    state === "Node down" && last !== undefined && last.toMs === undefined
      ? { atMs: last.fromMs, beganEarlier: last.beganEarlier }
      : outages.since();
  return began && { since: new Date(began.atMs).toISOString(), beganEarlier: began.beganEarlier };
}

function readFigures({ stillAfterMs }: StatusOptions, { health, clock, state, ...sources }: StatusSources) {
  return buildFigures(
    { health: health(), traffic: state.history.traffic(), ...sources.figures() },
    {
      nowMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
      blockOldAfterMs: stillAfterMs.heights,
      diskOldAfterMs,
    },
  );
}

/** Adds `GET /`, the status as a page for a person, which updates itself from `/status`, and the runbooks that it links to. */
export function addPageRoutes(app: App, runbooks: ReadonlyMap<string, string>): void {
  addAssets(app, "sidecar/page/assets");
  for (const [name, text] of runbooks) {
    addReadable(app, `/runbooks/${name}`, { text, html: () => renderRunbook(name, text, runbooks) });
  }
}
