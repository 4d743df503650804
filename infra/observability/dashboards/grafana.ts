import { nameRunbookFile } from "../alert.ts";
import type { LinkOptions } from "../rule-files.ts";
import { type Dashboard, ofStack, type Panel, selected } from "./dashboard.ts";

/** Grafana's JSON, for which there is no complete published schema. */
type Json = Readonly<Record<string, unknown>>;

const datasource = { type: "prometheus", uid: "${datasource}" } as const;
const columns = 24;
const usualWidth = 8;
const statHeight = 4;
const usualHeight = 8;

const rightWrong = {
  type: "value",
  options: {
    "1": { text: "healthy", color: "green", index: 0 },
    "0": { text: "degraded", color: "red", index: 1 },
    "-1": { text: "not known", color: "gray", index: 2 },
  },
};
const yesNo = {
  type: "value",
  options: { "1": { text: "yes", color: "green", index: 0 }, "0": { text: "no", color: "red", index: 1 } },
};

/** Renders each dashboard, keyed by path. The same input yields the same bytes. */
export function renderDashboards(
  dashboards: readonly Dashboard[],
  options: LinkOptions,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    dashboards.map((dashboard) => [
      `dashboards/${nameDashboardFile(dashboard)}`,
      renderGrafanaJson(dashboard, options),
    ]),
  );
}

/** Returns a dashboard's file name. */
export function nameDashboardFile({ uid }: Dashboard): string {
  return `${uid}.json`;
}

/** Renders a dashboard for import into Grafana (schema version 39, Grafana 10.3 and later). */
export function renderGrafanaJson(dashboard: Dashboard, options: LinkOptions): string {
  const { uid, title, description } = dashboard;
  const whole = {
    uid,
    title,
    description: `${description} Made by \`npm run docs\` from infra/observability/dashboards.`,
    tags: ["gatehouse"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "browser",
    annotations: { list: [firing, corrections, restarts] },
    links: [
      dashboardLinks,
      { ...buildLink("Runbooks", `${getRunbookBase(options)}/README.md`), type: "link" },
      // Grafana expands its variables, such as ${stack}, in the URL.
      ...(options.logsUrl === undefined ? [] : [{ ...buildLink("Logs", options.logsUrl), type: "link" }]),
    ],
    templating: { list: templating },
    panels: buildPanels(dashboard, options),
  };
  return `${JSON.stringify(whole, undefined, 2)}\n`;
}

/** Stacks rows vertically, and lays out each row's panels side by side where they fit. */
function buildPanels({ rows }: Dashboard, options: LinkOptions): readonly Json[] {
  const placed: Json[] = [];
  let y = 0;
  for (const row of rows) {
    placed.push({
      id: placed.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: columns, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      const w = panel.width ?? usualWidth;
      const h = panel.kind === "stat" ? statHeight : usualHeight;
      if (x + w > columns) {
        y += lineHeight;
        x = 0;
        lineHeight = 0;
      }
      placed.push({ id: placed.length + 1, gridPos: { x, y, w, h }, ...buildPanel(panel, options) });
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return placed;
}

function buildPanel(panel: Panel, options: LinkOptions): Json {
  const { title, description, queries, kind = "timeseries", alerts = [], onlyWith } = panel;
  return {
    type: kind === "states" ? "state-timeline" : kind,
    title,
    description: onlyWith === undefined ? description : `${description} Needs ${onlyWith}.`,
    datasource,
    links: alerts.map((name) => buildLink(`Runbook: ${name}`, `${getRunbookBase(options)}/${nameRunbookFile(name)}`)),
    fieldConfig: { defaults: buildFieldDefaults(panel), overrides: [] },
    options: buildViewOptions(kind),
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + at),
      datasource,
      editorMode: "code",
      expr,
      legendFormat: legend,
      // A stat shows the current value; a line needs all values.
      instant: kind === "stat",
      range: kind !== "stat",
    })),
  };
}

function buildFieldDefaults({ unit, kind = "timeseries", threshold }: Panel): Json {
  const steps =
    threshold === undefined
      ? [{ color: "green", value: null }]
      : [
          { color: threshold.low === true ? "red" : "green", value: null },
          { color: threshold.low === true ? "green" : "red", value: threshold.value },
        ];
  const mappings = kind === "states" ? [rightWrong] : unit === "bool_yes_no" ? [yesNo] : [];
  const custom =
    kind === "timeseries"
      ? {
          drawStyle: "line",
          lineWidth: 1,
          fillOpacity: 8,
          showPoints: "never",
          spanNulls: false,
          thresholdsStyle: { mode: threshold === undefined ? "off" : "line" },
        }
      : {};
  return { unit: unit === "bool_yes_no" ? "none" : unit, mappings, thresholds: { mode: "absolute", steps }, custom };
}

function buildViewOptions(kind: NonNullable<Panel["kind"]>): Json {
  const legend = { displayMode: "table", placement: "bottom", showLegend: true, calcs: ["lastNotNull", "max"] };
  if (kind === "timeseries") return { legend, tooltip: { mode: "multi", sort: "desc" } };
  if (kind === "states") {
    return {
      mergeValues: true,
      showValue: "never",
      rowHeight: 0.8,
      legend: { showLegend: false },
      tooltip: { mode: "single" },
    };
  }
  const reduceOptions = { calcs: ["lastNotNull"], fields: "", values: false };
  return { reduceOptions, textMode: "value_and_name", colorMode: "value", graphMode: "none", orientation: "auto" };
}

function getRunbookBase({ runbookBaseUrl }: LinkOptions): string {
  return runbookBaseUrl.replace(/\/+$/, "");
}

function buildLink(title: string, url: string): Json {
  return { title, url, targetBlank: true };
}

const dashboardLinks = {
  type: "dashboards",
  title: "Gatehouse",
  tags: ["gatehouse"],
  asDropdown: true,
  includeVars: true,
  keepTime: true,
};

function buildAnnotation(name: string, iconColor: string, expr: string, titleFormat: string): Json {
  return { name, enable: true, iconColor, datasource, expr, step: "60s", titleFormat, textFormat: "{{instance}}" };
}

const firing = buildAnnotation(
  "Alerts",
  "red",
  `ALERTS{alertname=~"Gatehouse.+",alertstate="firing",${ofStack}}`,
  "{{alertname}}",
);
const corrections = buildAnnotation(
  "Corrections of node.conf",
  "blue",
  `increase(${selected("gatehouse_node_config_corrections_total")}[3m]) > 0`,
  "node.conf corrected",
);
const restarts = buildAnnotation(
  "Restarts of the node",
  "orange",
  `increase(${selected("gatehouse_node_restarts_total")}[3m]) > 0`,
  "node restarted: {{cause}}",
);

function buildVariable({
  name,
  label,
  query,
  regex = "",
}: Readonly<Record<"name" | "label" | "query", string> & { regex?: string }>): Json {
  return {
    type: "query",
    name,
    label,
    datasource,
    query: { query, refId: name },
    definition: query,
    regex,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: ".+",
    current: { text: ["All"], value: ["$__all"] },
  };
}

/** Matches the stack in a job name: everything except the service suffix. */
export const stackOfJob = /^(.*?)(?:\/[^/]+)?$/;

const templating: readonly Json[] = [
  { type: "datasource", name: "datasource", label: "Prometheus", query: "prometheus", current: {} },
  buildVariable({
    name: "stack",
    label: "Stack",
    query: "label_values(gatehouse_build_info, job)",
    regex: `/${stackOfJob.source}/`,
  }),
  buildVariable({ name: "instance", label: "Node", query: `label_values(gatehouse_build_info{${ofStack}}, instance)` }),
];
