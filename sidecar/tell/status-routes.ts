import type { App } from "#daemon/http-app.ts";
import type { ReadinessCheck } from "#daemon/readiness.ts";
import type { NodeHealth } from "../health/node-health.ts";
import type { Charts } from "./charts.ts";
import type { ConditionBoard } from "./condition-board.ts";
import type { EventLog } from "./event-log.ts";

/** What the status tells; all of it is read from state, nothing asks the node. */
export type StatusSources = Readonly<{
  board: ConditionBoard;
  events: EventLog;
  health: () => NodeHealth;
  charts: Charts;
  /** Whether the configuration is right, for `/startupz`. */
  configured: () => ReadinessCheck;
}>;

/** Adds `GET /status` (conditions, health and events as JSON) and `GET /startupz` (200 once the configuration is right). */
export function statusRoutes(app: App, sources: StatusSources): void {
  app.get("/startupz", (c) => {
    const state = sources.configured();
    return c.json({ status: state.ok ? "ok" : "unready", checks: { configured: state } }, state.ok ? 200 : 503);
  });
  app.get("/status", (c) => c.json(statusOf(sources)));
}

function statusOf({ board, events, health, charts }: StatusSources) {
  const conditions = board.list();
  const { height, latencyMs, chainId, clientVersion, syncing } = health();
  return {
    right: conditions.every(({ status }) => status !== "False"),
    node: { height, latencyMs, chainId, clientVersion, syncing },
    conditions,
    events: events.list(),
    charts: { heights: charts.heights.list(), pruned: charts.pruned.list() },
  };
}
