import type { WrittenDashboard, WrittenPanel } from "./written-dashboard.ts";

/** A series over the drawn range; null where Prometheus has no value. */
export type DrawnSeries = Readonly<{ name: string; values: readonly (number | null)[] }>;

/** The drawn times, in Unix seconds. */
export type DrawnRange = Readonly<{ from: number; to: number; stepSeconds: number }>;

/** Data that a dashboard shows for a range. */
export type DashboardData = Readonly<{
  range: DrawnRange;
  series: ReadonlyMap<WrittenPanel, readonly DrawnSeries[]>;
  marks: readonly Mark[];
}>;

/** Start of an event that the dashboard marks on every panel; `at` in Unix seconds. */
export type Mark = Readonly<{ at: number; color: string; words: string }>;

type Labels = Readonly<Record<string, string>>;
type Matrix = readonly Readonly<{ metric: Labels; values: readonly (readonly [number, string])[] }>[];

const queryDeadlineMs = 20_000;
/** Interval that Grafana derives from four scrapes a second apart, slightly longer for readable lines. */
const rateInterval = "15s";

/** Sends each of a dashboard's queries to Prometheus, with all stacks and nodes selected. */
export async function readDashboardData(
  prometheusUrl: string,
  dashboard: WrittenDashboard,
  range: DrawnRange,
): Promise<DashboardData> {
  const series = new Map<WrittenPanel, readonly DrawnSeries[]>();
  for (const panel of dashboard.panels) {
    const found: DrawnSeries[] = [];
    for (const { expr, legendFormat } of panel.targets ?? []) {
      const matrix = await fetchRange(prometheusUrl, expr, range);
      found.push(...matrix.map(({ metric, values }) => buildSeries(formatLegend(legendFormat, metric), values, range)));
    }
    series.set(panel, found);
  }
  const marks: Mark[] = [];
  for (const { expr, iconColor, titleFormat } of dashboard.annotations.list) {
    for (const { metric, values } of await fetchRange(prometheusUrl, expr, range)) {
      const words = formatLegend(titleFormat, metric);
      marks.push(...findBeginnings(values, range).map((at) => ({ at, color: iconColor, words })));
    }
  }
  return { range, series, marks };
}

async function fetchRange(prometheusUrl: string, expr: string, range: DrawnRange): Promise<Matrix> {
  const query = expr.replaceAll("$__rate_interval", rateInterval).replaceAll(/\$(?:stack|instance)\b/g, ".+");
  const asked = new URLSearchParams({
    query,
    start: String(range.from),
    end: String(range.to),
    step: String(range.stepSeconds),
  });
  const response = await fetch(`${prometheusUrl}/api/v1/query_range`, {
    method: "POST",
    body: asked,
    signal: AbortSignal.timeout(queryDeadlineMs),
  });
  const body = (await response.json()) as { status: string; error?: string; data: { result: Matrix } };
  if (body.status !== "success") throw new Error(`Prometheus refuses ${query}: ${body.error}`);
  return body.data.result;
}

/** Replaces Grafana's `{{label}}` in a legend with the labels. */
function formatLegend(template: string, labels: Labels): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? "").trim();
}

function buildSeries(name: string, values: Matrix[number]["values"], range: DrawnRange): DrawnSeries {
  const byTime = new Map(values.map(([at, value]) => [Math.round(at), Number(value)]));
  const count = Math.floor((range.to - range.from) / range.stepSeconds) + 1;
  const at = (index: number) => byTime.get(Math.round(range.from + index * range.stepSeconds));
  return {
    name,
    values: Array.from({ length: count }, (_, index) => {
      const value = at(index);
      return value !== undefined && Number.isFinite(value) ? value : null;
    }),
  };
}

/**
 * Finds the times at which a series exists and a step earlier did not; not those of series that exist from the start.
 */
function findBeginnings(values: Matrix[number]["values"], { from, stepSeconds }: DrawnRange): readonly number[] {
  const times = values.map(([at]) => at);
  return times.filter((at, index) => at > from && at - (times[index - 1] ?? -Infinity) > stepSeconds * 1.5);
}
