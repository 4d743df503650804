import type { App } from "#daemon/http/app.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { describeNodePage, type NodePageOptions, type NodePageSources } from "#gateway/page/node-page.ts";
import type { Charts } from "#status/charts.ts";
import { addAssets, addText } from "#status/page/static-routes.ts";
import type { Condition } from "#status/condition.ts";
import type { Deployment } from "./advice/deployment.ts";
import { listSteps } from "./advice/advice.ts";
import { findRunbook } from "#status/runbook.ts";

export type UpkeepMode = "adopt" | "enforce" | "observe";

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
    deployment: () => Deployment;
    runbooks: Pick<ReadonlyMap<string, string>, "has">;
    /** Replaces the specification's file and tool names in strings with those of this node. */
    withNodeNames: <Value extends object>(value: Value) => Value;
    configured: () => ReadinessCheck;
    plan: () => Readonly<{ steps: readonly string[]; problems: readonly string[] }> | undefined;
    /** Actions that the page currently offers; undefined without a control token. */
    actions: () => readonly PageAction[] | undefined;
  }>;

export type PageAction = "resume" | "adopt" | "restart";

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
