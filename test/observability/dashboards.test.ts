import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nameRunbookFile } from "#infra/observability/alert.ts";
import { dashboards } from "#infra/observability/dashboards/all-dashboards.ts";
import { renderDashboards, stackOfJob } from "#infra/observability/dashboards/grafana.ts";
import { metricCatalogue } from "#infra/observability/metric-catalogue.ts";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";

const root = join(import.meta.dirname, "../..");
const panels = dashboards.flatMap(({ title, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => ({ dashboard: title, ...panel }))),
);

/** Part of a generated dashboard that the tests read. */
type Written = Readonly<{
  uid: string;
  schemaVersion: number;
  panels: readonly Readonly<{ id: number; gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>> }>[];
}>;

const files = renderDashboards(dashboards, { runbookBaseUrl: "https://gatehouse.example/docs/runbooks" });

const titlesOf = (written: string) =>
  (JSON.parse(written) as { links: readonly { title: string; url?: string }[] }).links.map(({ title }) => title);

describe("the dashboards", () => {
  it("name no metric that no service exposes, and no recording that is not made", () => {
    const recorded = new Set<string>(ruleGroups.flatMap(({ recordings }) => recordings.map(({ record }) => record)));
    const known = (name: string) =>
      recorded.has(name) || name in metricCatalogue || name.replace(/_(?:bucket|sum|count)$/, "") in metricCatalogue;
    const named = panels.flatMap(({ queries }) =>
      queries.flatMap(({ expr }) => expr.match(/\bgatehouse[_:][\w:]+/g) ?? []),
    );
    expect(named.length).toBeGreaterThan(panels.length);
    expect(named.filter((name) => !known(name))).toEqual([]);
  });

  it("describe every panel, and select the stack and the node in every query", () => {
    expect(panels.filter(({ description }) => description.length < 20).map(({ title }) => title)).toEqual([]);
    const unselected = panels
      .flatMap(({ queries }) => queries)
      .filter(({ expr }) => !expr.includes('job=~"(?:$stack)(?:/[^/]+)?"'));
    expect(unselected).toEqual([]);
    expect(new Set(panels.map(({ dashboard, title }) => `${dashboard}: ${title}`)).size).toBe(panels.length);
  });

  it("take the stack from its jobs, of which each ends with a service", () => {
    const jobs = ["gatehouse-prod/sidecar", "gatehouse-prod/facilitator", "monitoring/eu/sidecar", "gatehouse"];
    const stacks = jobs.map((job) => stackOfJob.exec(job)?.[1]);
    expect(stacks).toEqual(["gatehouse-prod", "gatehouse-prod", "monitoring/eu", "gatehouse"]);
  });

  it("link to where logs are read, if that is set", () => {
    const logsUrl = "https://logs.example/explore?stack=${stack}";
    const linked = renderDashboards(dashboards, { runbookBaseUrl: "https://git.example", logsUrl });
    for (const [name, text] of Object.entries(linked)) {
      expect(titlesOf(text)).toEqual(["Gatehouse", "Runbooks", "Logs"]);
      expect(text).toContain(logsUrl);
      expect(titlesOf(files[name] ?? "")).toEqual(["Gatehouse", "Runbooks"]);
    }
  });

  it("link to runbooks that are there", () => {
    const linked = panels.flatMap(({ alerts }) => alerts ?? []).map((name) => nameRunbookFile(name));
    expect(linked.filter((page) => !existsSync(join(root, "docs/runbooks", page)))).toEqual([]);
  });

  it("show every alert somewhere", () => {
    const shown = new Set<string>(panels.flatMap(({ alerts }) => alerts ?? []));
    const alerts = ruleGroups.flatMap((group) => group.alerts.map(({ name }) => name));
    // The sidecar checks the Pushgateway's contents; the conditions show them.
    expect(alerts.filter((name) => !shown.has(name))).toEqual(["GatehouseMetricsNotArriving"]);
  });

  it.each(Object.entries(files))("%s is committed as it is made, and its panels do not overlap", (name, text) => {
    expect(readFileSync(join(root, "infra/observability/generated", name), "utf8")).toBe(text);
    const written = JSON.parse(text) as Written;
    expect(written.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(name).toBe(`dashboards/${written.uid}.json`);
    const taken = new Set<string>();
    for (const { gridPos } of written.panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x).toBeLessThan(24);
          expect(taken.has(`${x} ${y}`)).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
    expect(new Set(written.panels.map(({ id }) => id)).size).toBe(written.panels.length);
  });
});
