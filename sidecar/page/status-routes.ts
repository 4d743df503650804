import type { App } from "#daemon/http/app.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { describeNodePage, type NodePageOptions, type NodePageSources } from "#gateway/page/node-page.ts";
import type { Charts } from "#status/charts.ts";
import { addAssets, addReadable } from "#status/page/static-routes.ts";
import type { Condition } from "#status/condition.ts";
import type { Deployment } from "./advice/deployment.ts";
import { listSteps } from "./advice/advice.ts";
import { findRunbook } from "./advice/runbooks.ts";
import { renderRunbook } from "./runbook-page.ts";

/** The sidecar's mode: wait for `gatehouse adopt`, act at once, or only observe. */
export type UpkeepMode = "adopt" | "enforce" | "observe";

/** Identity of the node in the status, and settings for the status page. */
export type StatusOptions = Omit<NodePageOptions, "service" | "blockOldAfterMs"> &
  Readonly<{
    mode: UpkeepMode;
    /** Times after which a value that has not changed is reported as unchanged. */
    stillAfterMs: Readonly<{ heights: number; pruning: number }>;
  }>;

/** Data sources for the status, all in memory; none queries the node. */
export type StatusSources = Omit<NodePageSources, "advise"> &
  Readonly<{
    charts: Charts;
    /** The commands for this deployment. */
    deployment: () => Deployment;
    /** The runbooks that this listener serves, by file name. */
    runbooks: Pick<ReadonlyMap<string, string>, "has">;
    /** Replaces the specification's file and tool names in strings with those of this node. */
    withNodeNames: <Value extends object>(value: Value) => Value;
    /** Whether the configuration is correct, for `/startupz`. */
    configured: () => ReadinessCheck;
    /** Changes that the sidecar plans or would make; undefined before the sidecar's first check. */
    plan: () => Readonly<{ steps: readonly string[]; problems: readonly string[] }> | undefined;
    /** Actions that the page currently offers; undefined without a control token. */
    actions: () => readonly PageAction[] | undefined;
  }>;

/** An operator action on the page; each is a route under `/control`. */
export type PageAction = "resume" | "adopt" | "restart";

/** Adds `GET /status` (conditions, health and events as JSON) and `GET /startupz` (200 once the configuration is correct). */
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
    right: status.verdict.level === "healthy",
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

/** Adds `GET /`, an HTML status page that updates itself from `/status`, and the runbooks that it links to. */
export function addPageRoutes(app: App, runbooks: ReadonlyMap<string, string>): void {
  addAssets(app, "status/page/assets");
  for (const [name, text] of runbooks) {
    addReadable(app, `/runbooks/${name}`, { text, html: () => renderRunbook(name, text, runbooks) });
  }
}
