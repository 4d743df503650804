import type { ruleGroups } from "../rules/all-rules.ts";
import type { SeriesName } from "../series-name.ts";
import { series } from "../series.ts";

/** Grafana's unit ids. */
export type Unit = "short" | "reqps" | "cps" | "s" | "bytes" | "percentunit" | "none" | "bool_yes_no";

/** A query in a panel. */
export type Query = Readonly<{
  expr: string;
  /** Name of the series: a Grafana template over its labels. */
  legend: string;
}>;

/** A panel: its content, purpose and unit. */
export type Panel = Readonly<{
  title: string;
  /** What the panel shows, and how to interpret it. */
  description: string;
  unit: Unit;
  queries: readonly [Query, ...Query[]];
  /** Defaults to a time series. `states` shows 1, 0 and -1 over time as ok, failed and unknown. */
  kind?: "timeseries" | "stat" | "states";
  /** Width in columns, out of 24; default 8. */
  width?: 4 | 6 | 8 | 12 | 24;
  /** Alerts on the panel's data; the panel links to their runbooks. */
  alerts?: readonly AlertName[];
  /** Max value, or min value (with `low`), drawn as a line. */
  threshold?: Readonly<{ value: number; low?: true }>;
  /** Setting or problem without which a stack has no such series. */
  onlyWith?: string;
}>;

export type AlertName = (typeof ruleGroups)[number]["alerts"][number]["name"];

/** A dashboard, before it is rendered for Grafana. */
export type Dashboard = Readonly<{
  /** Must never change: links and bookmarks use it. */
  uid: `gatehouse-${string}`;
  title: string;
  description: string;
  rows: readonly Readonly<{ title: string; panels: readonly Panel[] }>[];
}>;

type MatchersOf<N extends SeriesName> = Parameters<typeof series<N>>[1];

/** Matcher for the stacks selected on the dashboard. The stack is the prefix of all its jobs, `<stack>/<service>`. A job without a slash is its own stack. */
export const ofStack = 'job=~"(?:$stack)(?:/[^/]+)?"';

/** Label matchers for the variables on every dashboard. */
export const variables = `${ofStack},instance=~"$instance"`;

/**
 * Selects a metric for the dashboard's stack and node. A name or label that no service exposes does not compile.
 *
 * @example selected("gatehouse_node_up") // gatehouse_node_up{job=~"(?:$stack)(?:/[^/]+)?",instance=~"$instance"}
 */
export function selected<N extends SeriesName>(name: N, matchers?: MatchersOf<N>): string {
  const own = series(name, matchers)
    .slice(name.length)
    .replace(/^\{|\}$/g, "");
  return `${name}{${own === "" ? "" : `${own},`}${variables}}`;
}

/** Legend for a series that exists once per instance. */
export const each = "{{instance}}";

/** Queries a metric by instance; `what` distinguishes it from the other metrics in the panel. */
export function perInstance(name: SeriesName, what?: string): Query {
  return { expr: selected(name), legend: what === undefined ? each : `${what} ${each}` };
}

/** Builds the expression for a counter's per-second rate, summed by labels. */
export function rateBy<N extends SeriesName>(labels: string, name: N, matchers?: MatchersOf<N>): string {
  return `sum by (${labels}) (rate(${selected(name, matchers)}[$__rate_interval]))`;
}

/** Builds the expression for a histogram quantile, by labels. */
export function quantile<N extends Extract<SeriesName, `${string}_bucket`>>(
  share: number,
  labels: string,
  name: N,
  matchers?: MatchersOf<N>,
): string {
  const by = labels === "" ? "le" : `${labels}, le`;
  return `histogram_quantile(${share}, ${rateBy(by, name, matchers)})`;
}
