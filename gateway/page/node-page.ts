import { listPageLinks } from "#daemon/http/page-links.ts";
import { describeNodeStatus, type NodeStatusSources, type ReportedNode } from "#health/node-status.ts";
import type { Condition } from "#status/condition.ts";
import { describeIncident, type IncidentAdvice } from "#status/described-incident.ts";
import type { EventLog } from "#status/event-log.ts";
import type { Verdict } from "#status/verdict.ts";
import { buildFigures, type FigureSources } from "./figures.ts";
import type { PageState } from "./page-state.ts";

export type NodePageOptions = ReportedNode &
  Readonly<{
    service: "sidecar" | "gateway";
    /** Pages to link to, each `name=URL`. */
    pages: readonly string[];
    /** Age, in ms, from which a block counts as old. */
    blockOldAfterMs: number;
  }>;

/** Sources of the page's data. All data is read from state; nothing queries the node. */
export type NodePageSources = NodeStatusSources &
  Readonly<{
    verdict: () => Verdict;
    events: EventLog;
    state: PageState;
    /** Figures that exist only in a sidecar. */
    figures: () => Pick<FigureSources, "restarts" | "disk">;
    advise: (cause: Condition) => IncidentAdvice;
  }>;

/** The disk is checked once a minute. */
const diskOldAfterMs = 150_000;

export function describeNodePage(options: NodePageOptions, sources: NodePageSources) {
  const { state, events, clock, health, advise } = sources;
  const { headline, incidents } = state.read();
  const traffic = state.history.traffic();
  const { blockOldAfterMs } = options;
  const rules = { nowMs: clock.wallMs(), monotonicMs: clock.monotonicMs(), blockOldAfterMs, diskOldAfterMs };
  return {
    ...describeNodeStatus(options, sources),
    service: options.service,
    verdict: { level: sources.verdict().level },
    headline: { ...headline, ...findStateStart(state, headline.state, sources.board) },
    figures: buildFigures({ health: health(), traffic, ...sources.figures() }, rules),
    incidents: incidents.map((incident) => describeIncident(incident, advise)),
    traffic,
    events: events.list(),
    history: { ranges: state.history.ranges(), outages: state.outages.list() },
    pages: listPageLinks(options.pages),
  };
}

/** Returns when the current state started: a node has been down since it last served; a pause started at its condition's timestamp. */
function findStateStart({ outages }: PageState, state: string, board: NodePageSources["board"]) {
  const last = outages.list().at(-1);
  const hold = state.startsWith("Paused") ? board.get("NotPaused") : undefined;
  if (hold !== undefined) return { since: hold.since, beganEarlier: false };
  const startText =
    state === "Node down" && last !== undefined && last.toMs === undefined
      ? { atMs: last.fromMs, beganEarlier: last.beganEarlier }
      : outages.since();
  return startText && { since: new Date(startText.atMs).toISOString(), beganEarlier: startText.beganEarlier };
}
