import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderDashboards } from "#infra/observability/dashboards.ts";
import { placeholderRunbooks } from "#infra/observability/rules.ts";
import { dashboards, dashboardSchema, panels } from "./committed-dashboards.ts";
import { listAlertRules, ruleGroups } from "./committed-rules.ts";
import { listUnknownNames } from "./unknown-names.ts";

const alertRules = listAlertRules(ruleGroups);
const runbooks = join(import.meta.dirname, "../../docs/runbooks");
const stackOfJob = dashboards[0]?.templating.list.find(({ name }) => name === "stack")?.regex ?? "";

describe("the dashboards", () => {
  it("use only exposed metrics, labels and values, and existing recordings", () => {
    const targets = panels.flatMap((panel) => panel.targets.map(({ expr }) => expr));
    const annotations = dashboards.flatMap(({ annotations: { list } }) => list.map(({ expr }) => expr));
    expect(targets.length).toBeGreaterThan(panels.length);
    expect([...targets, ...annotations].flatMap(listUnknownNames)).toEqual([]);
  });

  it("describe every panel, and filter every query by stack and node", () => {
    expect(panels.filter(({ description }) => description.length < 20).map(({ title }) => title)).toEqual([]);
    const unselectedTargets = panels
      .flatMap(({ targets }) => targets)
      .filter(({ expr }) => !expr.includes('job=~"(?:$stack)(?:/[^/]+)?"'));
    expect(unselectedTargets).toEqual([]);
    expect(new Set(panels.map(({ dashboard, title }) => `${dashboard}: ${title}`)).size).toBe(panels.length);
  });

  it("extract the stack's name from its jobs", () => {
    const jobs = ["gatehouse-prod/sidecar", "gatehouse-prod/facilitator", "monitoring/eu/sidecar", "gatehouse"];
    const pattern = new RegExp(stackOfJob.slice(1, -1));
    expect(jobs.map((job) => pattern.exec(job)?.[1])).toEqual([
      "gatehouse-prod",
      "gatehouse-prod",
      "monitoring/eu",
      "gatehouse",
    ]);
  });

  it("link to the stack's runbooks, and to its logs if a URL is set", () => {
    const logsUrl = "https://logs.example/explore?stack=${stack}";
    for (const { text } of renderDashboards({ runbookBaseUrl: "https://git.example/", logsUrl })) {
      const { links } = dashboardSchema.parse(JSON.parse(text));
      expect(links.map(({ title, url }) => [title, url])).toEqual([
        ["Gatehouse", undefined],
        ["Runbooks", "https://git.example/README.md"],
        ["Logs", logsUrl],
      ]);
      expect(text).not.toContain(placeholderRunbooks);
    }
    expect(dashboards.map(({ links }) => links.map(({ title }) => title))).toEqual(
      dashboards.map(() => ["Gatehouse", "Runbooks"]),
    );
  });

  it("show every alert in a panel, with a link to its runbook", () => {
    const links = panels.flatMap((panel) => panel.links);
    const shown = new Map(links.map(({ title, url = "" }) => [title.replace("Runbook: ", ""), url]));
    const pages = [...shown.values()].map((url) => url.slice(placeholderRunbooks.length + 1));
    expect(pages.filter((page) => !existsSync(join(runbooks, page)))).toEqual([]);
    const expected = alertRules
      .filter(({ alert }) => shown.has(alert))
      .map(({ alert, annotations }) => [alert, annotations.runbook_url] as const);
    expect(shown).toEqual(new Map(expected));
    // The sidecar checks the Pushgateway's contents; the conditions show them.
    expect(alertRules.filter(({ alert }) => !shown.has(alert)).map(({ alert }) => alert)).toEqual([
      "GatehouseMetricsNotArriving",
    ]);
  });

  it.each(dashboards)("$title has no overlapping panels", ({ schemaVersion, panels: placed }) => {
    expect(schemaVersion).toBeGreaterThanOrEqual(39);
    const taken = new Set<string>();
    for (const { gridPos } of placed) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x).toBeLessThan(24);
          expect(taken.has(`${x} ${y}`)).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
    expect(new Set(placed.map(({ id }) => id)).size).toBe(placed.length);
  });
});
