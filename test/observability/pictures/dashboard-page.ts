import type { DashboardData, DrawnSeries } from "./dashboard-data.ts";
import { escapeText } from "./escaped-text.ts";
import { pickColor, renderLineChart, namedColors } from "./line-chart.ts";
import { writeValue } from "./value-words.ts";
import type { FieldDefaults, WrittenDashboard, WrittenPanel } from "./written-dashboard.ts";

/** Width of the page, in pixels. */
export const pageWidth = 1_200;
/** Grafana's grid: 24 columns, rows of 30 pixels, gaps of 8. */
const [columns, rowHeight, gap, margin] = [24, 30, 8, 12];
const columnWidth = (pageWidth - 2 * margin - (columns - 1) * gap) / columns;
const padding = 10;
const titleHeight = 30;
const legendRowHeight = 16;
const legendRowsMax = 5;

const style = `
*{box-sizing:border-box}body{margin:0;padding:${margin}px;width:${pageWidth}px;background:#f2f4f6;color:#1b1f24;font:12px/1.35 "DejaVu Sans",sans-serif}
h1{margin:2px 2px 10px;font-size:17px}h1 small{font-weight:400;font-size:12px;color:#4a5561;margin-left:10px}h1 b{font-weight:400;margin-left:14px}
main{display:grid;grid-template-columns:repeat(${columns},1fr);grid-auto-rows:${rowHeight}px;gap:${gap}px}
h2{margin:0;font-size:13px;align-self:end;padding:0 2px 3px;grid-column:1/-1}
section{background:#fff;border:1px solid #d5dbe1;border-radius:3px;padding:0 ${padding}px;overflow:hidden}
h3{margin:0;font-size:12px;line-height:${titleHeight}px;white-space:nowrap}
svg{display:block;font-size:10.5px;overflow:visible}svg text{fill:#4a5561}
.grid{stroke:#e4e8ec;fill:none;shape-rendering:crispEdges}.line{fill:none;stroke-width:1.5;stroke-linejoin:round}.threshold{stroke:#c93c37;stroke-dasharray:6 4;fill:none}
.mark{stroke-dasharray:3 3;fill:none}
table{width:100%;border-collapse:collapse;font-size:11px;line-height:${legendRowHeight}px}td,th{padding:0;text-align:right;font-weight:400;white-space:nowrap}
th{color:#2f6fd6;font-size:10px}td:first-child,th:first-child{text-align:left;max-width:0;width:70%;overflow:hidden;text-overflow:ellipsis}td+td,th+th{padding-left:12px}
i{display:inline-block;width:12px;height:3px;margin-right:6px;vertical-align:middle}
.tiles{display:flex;gap:8px;height:calc(100% - ${titleHeight}px);align-items:center;justify-content:space-around;text-align:center}
.tiles div{min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.tiles strong{display:block;font-size:24px;font-weight:500;line-height:1.2}
.none{display:flex;height:calc(100% - ${titleHeight}px);align-items:center;justify-content:center;color:#4a5561;text-align:center}`;

/** Writes a dashboard as a page, with each panel at Grafana's position. */
export function renderDashboardPage({ title, panels }: WrittenDashboard, data: DashboardData): string {
  const drawn = panels.map((panel) => {
    const { x, y, w, h } = panel.gridPos;
    const place = `grid-column:${x + 1}/span ${w};grid-row:${y + 1}/span ${h}`;
    if (panel.type === "row") return `<h2 style="${place}">${escapeText(panel.title)}</h2>`;
    return `<section style="${place}"><h3>${escapeText(panel.title)}</h3>${renderPanel(panel, data)}</section>`;
  });
  return `<!doctype html><meta charset="utf-8"><style>${style}</style><h1>${escapeText(title)}${renderMarkLegend(data)}</h1><main>${drawn.join("")}</main>`;
}

function renderMarkLegend({ marks }: DashboardData): string {
  const kinds = new Map(marks.map(({ words, color }) => [words, namedColors[color] ?? color]));
  return [...kinds]
    .map(
      ([words, color]) => `<small><i style="height:9px;width:9px;background:${color}"></i>${escapeText(words)}</small>`,
    )
    .join("");
}

function renderPanel(panel: WrittenPanel, data: DashboardData): string {
  const series = (data.series.get(panel) ?? [])
    .filter(({ values }) => values.some((value) => value !== null))
    .toSorted((one, other) => one.name.localeCompare(other.name));
  const defaults = panel.fieldConfig?.defaults;
  if (defaults === undefined || series.length === 0) {
    const needs = /Needs (.+)\.$/.exec(panel.description ?? "")?.[1];
    return `<div class="none">No data${needs === undefined ? "" : `: needs ${escapeText(needs)}`}</div>`;
  }
  const { w, h } = panel.gridPos;
  const size = {
    width: w * columnWidth + (w - 1) * gap - 2 * padding - 2,
    height: h * rowHeight + (h - 1) * gap - titleHeight - 6,
  };
  if (panel.type === "stat") return renderStat(defaults, series);
  if (panel.type === "state-timeline") return renderStates(defaults, series, { data, ...size });
  return renderLines(defaults, series, { data, ...size });
}

type Canvas = Readonly<{ data: DashboardData; width: number; height: number }>;

/** Finds the highest value of a series, if it has any. */
function findHighest({ values }: DrawnSeries): number {
  return values.reduce<number>((found, value) => Math.max(found, value ?? -Infinity), -Infinity);
}

function renderLines(defaults: FieldDefaults, found: readonly DrawnSeries[], { data, width, height }: Canvas): string {
  const { unit, thresholds } = defaults;
  // If the legend has no room for all series, it has those with the highest values.
  const series =
    found.length > legendRowsMax ? found.toSorted((one, other) => findHighest(other) - findHighest(one)) : found;
  const shown = series.slice(0, legendRowsMax);
  const rows = shown.map((one, place) => {
    const last = one.values.findLast((value) => value !== null) ?? 0;
    const cells = [last, findHighest(one)].map((value) => `<td>${escapeText(writeValue(unit, value))}</td>`);
    return `<tr><td><i style="background:${pickColor(place)}"></i>${escapeText(one.name)}</td>${cells.join("")}</tr>`;
  });
  const more = series.length > shown.length ? ` and ${series.length - shown.length} more` : "";
  const legend = `<table><tr><th>Name${more}</th><th>Last</th><th>Max</th></tr>${rows.join("")}</table>`;
  const chart = renderLineChart({
    unit,
    series,
    range: data.range,
    marks: data.marks,
    threshold: thresholds.steps.find(({ value }) => value !== null)?.value ?? undefined,
    width,
    height: height - (rows.length + 1) * legendRowHeight,
  });
  return chart + legend;
}

function renderStat(defaults: FieldDefaults, series: readonly DrawnSeries[]): string {
  const tiles = series.flatMap(({ name, values }) => {
    // A stat requests the current value: an ended series is not shown.
    const now = values.at(-1);
    if (now === null || now === undefined) return [];
    const { text, color } = describeValue(defaults, now);
    return [`<div><strong style="color:${color}">${escapeText(text)}</strong>${escapeText(name)}</div>`];
  });
  return `<div class="tiles">${tiles.join("")}</div>`;
}

/** Describes a value with text and a colour, from the panel's mapping or its thresholds. */
function describeValue({ unit, mappings, thresholds }: FieldDefaults, value: number): Record<"text" | "color", string> {
  const mapped = mappings[0]?.options[String(value)];
  const step = thresholds.steps.findLast((one) => one.value === null || value >= one.value);
  const color = mapped?.color ?? step?.color ?? "green";
  return { text: mapped?.text ?? writeValue(unit, value), color: namedColors[color] ?? color };
}

const stateLabelWidth = 210;

function renderStates(
  defaults: FieldDefaults,
  series: readonly DrawnSeries[],
  { data, width, height }: Canvas,
): string {
  const { range } = data;
  const room = height - 20;
  const rowSize = Math.min(24, room / series.length);
  const x = (at: number) =>
    stateLabelWidth + ((width - stateLabelWidth - 10) * (at - range.from)) / (range.to - range.from);
  const rows = series.map(({ name, values }, row) => {
    const y = row * rowSize;
    const label = `<text x="${stateLabelWidth - 8}" y="${(y + rowSize * 0.72).toFixed(1)}" text-anchor="end" font-size="${Math.min(11, rowSize).toFixed(1)}">${escapeText(name)}</text>`;
    const bars = mergeEqual(values).map(({ value, start, end }) => {
      if (value === null) return "";
      const [from, to] = [start, end].map((index) => x(Math.min(range.to, range.from + index * range.stepSeconds)));
      const { color } = describeValue(defaults, value);
      return `<rect x="${(from ?? 0).toFixed(1)}" y="${(y + rowSize * 0.1).toFixed(1)}" width="${((to ?? 0) - (from ?? 0)).toFixed(1)}" height="${(rowSize * 0.8).toFixed(1)}" fill="${color}" fill-opacity="0.75"/>`;
    });
    return label + bars.join("");
  });
  const used = rowSize * series.length;
  const first = Math.ceil(range.from / 60) * 60;
  const times = Array.from({ length: Math.floor((range.to - first) / 60) + 1 }, (_, index) => first + index * 60).map(
    (at) =>
      `<text x="${x(at).toFixed(1)}" y="${used + 14}" text-anchor="middle">${new Date(at * 1_000).toISOString().slice(11, 16)}</text>`,
  );
  return `<svg width="${width}" height="${height}">${rows.join("")}${times.join("")}</svg>`;
}

/** Adjacent equal values as one stretch. */
function mergeEqual(
  values: DrawnSeries["values"],
): readonly Readonly<{ value: number | null; start: number; end: number }>[] {
  const merged: { value: number | null; start: number; end: number }[] = [];
  for (const [index, value] of values.entries()) {
    const last = merged.at(-1);
    if (last !== undefined && last.value === value) last.end = index + 1;
    else merged.push({ value, start: index, end: index + 1 });
  }
  return merged;
}
