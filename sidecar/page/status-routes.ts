import type { App } from "#daemon/http/app.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Charts } from "#status/charts.ts";
import type { EventLog } from "#status/event-log.ts";
import { nodeStatus, type NodeStatusSources, type ToldNode } from "#health/node-status.ts";
import type { UpkeepMode, Verdict } from "#status/verdict.ts";

/** Which node is told about, and how its page reads. */
export type StatusOptions = ToldNode &
  Readonly<{
    mode: UpkeepMode;
    /** From when on a chart's line that does not move is called unchanged. */
    stillAfterMs: Readonly<{ heights: number; pruning: number }>;
  }>;

/** What the status tells; all of it is read from state, nothing asks the node. */
export type StatusSources = NodeStatusSources &
  Readonly<{
    verdict: () => Verdict;
    events: EventLog;
    charts: Charts;
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

function statusOf(options: StatusOptions, sources: StatusSources) {
  const { events, charts, plan } = sources;
  const verdict = sources.verdict();
  return {
    ...nodeStatus(options, sources),
    right: verdict.level === "right",
    verdict,
    mode: options.mode,
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
