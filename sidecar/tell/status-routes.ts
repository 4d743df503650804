import type { App } from "#daemon/http-app.ts";
import type { ReadinessCheck } from "#daemon/readiness.ts";
import type { Clock } from "../clock.ts";
import type { NodeHealth } from "../health/node-health.ts";
import type { Charts } from "./charts.ts";
import type { ConditionBoard } from "./condition-board.ts";
import { conditionTitle } from "./condition-titles.ts";
import type { EventLog } from "./event-log.ts";
import { verdictOf, type UpkeepMode } from "./verdict.ts";

/** Which node is told about. */
export type StatusOptions = Readonly<{
  /** What a person knows the node by. */
  name: string;
  httpUrl: string;
  mode: UpkeepMode;
  /** From when on a chart's line that does not move is called unchanged. */
  stillAfterMs: Readonly<{ heights: number; pruning: number }>;
}>;

/** What the status tells; all of it is read from state, nothing asks the node. */
export type StatusSources = Readonly<{
  board: ConditionBoard;
  events: EventLog;
  health: () => NodeHealth;
  charts: Charts;
  clock: Clock;
  /** Whether the configuration is right, for `/startupz`. */
  configured: () => ReadinessCheck;
  /** What the sidecar would change, or is about to; undefined until it has looked. */
  plan: () => Readonly<{ steps: readonly string[]; problems: readonly string[] }> | undefined;
}>;

/** Adds `GET /status` (conditions, health and events as JSON) and `GET /startupz` (200 once the configuration is right). */
export function statusRoutes(app: App, options: StatusOptions, sources: StatusSources): void {
  app.get("/startupz", (c) => {
    const state = sources.configured();
    return c.json({ status: state.ok ? "ok" : "unready", checks: { configured: state } }, state.ok ? 200 : 503);
  });
  app.get("/status", (c) => c.json(statusOf(options, sources), 200, { "Cache-Control": "no-store" }));
}

function statusOf(options: StatusOptions, { board, events, health, charts, clock, plan }: StatusSources) {
  const conditions = board.list();
  const { height, latencyMs, chainId, clientVersion, syncing, failure, answeredAtMs } = health();
  return {
    /** The sidecar's own time, so that ages do not depend on the reader's clock. */
    at: new Date(clock.wallMs()).toISOString(),
    right: conditions.every(({ status }) => status !== "False"),
    verdict: verdictOf(conditions, options.mode),
    mode: options.mode,
    node: {
      name: options.name,
      rpc: new URL(options.httpUrl).origin,
      height,
      latencyMs,
      chainId,
      clientVersion,
      syncing,
      /** Whether the last look was answered; if not, what stands above is of `answeredAt`. */
      answers: failure === undefined && answeredAtMs !== undefined,
      answeredAt: answeredAtMs === undefined ? undefined : new Date(answeredAtMs).toISOString(),
    },
    conditions: conditions.map(({ type, status, reason, message, since }) => {
      return { type, title: conditionTitle({ type, status, reason }), status, reason, message, since };
    }),
    plan: plan(),
    events: events.list(),
    charts: {
      heights: charts.heights.list(),
      prunable: charts.prunable.list(),
      pruned: charts.pruned.list(),
      stillAfterMs: options.stillAfterMs,
    },
  };
}
