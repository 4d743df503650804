import type { ruleGroups } from "../rules/all-rules.ts";
import type { SeriesName } from "../series-name.ts";
import { series } from "../series.ts";

/** Grafana's ids of units. */
export type Unit = "short" | "reqps" | "cps" | "s" | "bytes" | "percentunit" | "none" | "bool_yes_no";

/** One expression of a panel. */
type Query = Readonly<{
  expr: string;
  /** Name of a series: a Grafana template of its labels. */
  legend: string;
}>;

/** One picture: its content, its purpose, its unit. */
export type Panel = Readonly<{
  title: string;
  /** Content, and how to judge it. */
  description: string;
  unit: Unit;
  queries: readonly [Query, ...Query[]];
  /** Default: a time series. `states` shows 1, 0 and -1 over time as right, wrong and not known. */
  kind?: "timeseries" | "stat" | "states";
  /** Width in columns, of which there are 24; default 8. */
  width?: 4 | 6 | 8 | 12 | 24;
  /** Alerts on what the panel shows, which links to their runbooks. */
  alerts?: readonly AlertName[];
  /** A value that should not be exceeded, or (with `low`) not be fallen short of; drawn as a line. */
  threshold?: Readonly<{ value: number; low?: true }>;
  /** Setting or trouble without which a stack has no such series. */
  onlyWith?: string;
}>;

/** Name of an alert of Gatehouse. */
export type AlertName = (typeof ruleGroups)[number]["alerts"][number]["name"];

/** One dashboard, before it is written in Grafana's form. */
export type Dashboard = Readonly<{
  /** Never changes: links and bookmarks go by it. */
  uid: `gatehouse-${string}`;
  title: string;
  description: string;
  rows: readonly Readonly<{ title: string; panels: readonly Panel[] }>[];
}>;

type MatchersOf<N extends SeriesName> = Parameters<typeof series<N>>[1];

/** Matcher of the dashboard's stacks: all jobs of a stack, `<stack>/<service>`, begin with it. A job without a slash is its own stack. */
export const ofStack = 'job=~"(?:$stack)(?:/[^/]+)?"';

/** Matchers of every dashboard's variables. */
export const variables = `${ofStack},instance=~"$instance"`;

/**
 * Selects a metric of the dashboard's stack and node. A name or a label that no service exposes does not compile.
 *
 * @example selected("gatehouse_node_up") // gatehouse_node_up{job=~"(?:$stack)(?:/[^/]+)?",instance=~"$instance"}
 */
export function selected<N extends SeriesName>(name: N, matchers?: MatchersOf<N>): string {
  const own = series(name, matchers)
    .slice(name.length)
    .replace(/^\{|\}$/g, "");
  return `${name}{${own === "" ? "" : `${own},`}${variables}}`;
}

/** Name of a series that each instance has once. */
export const each = "{{instance}}";

/** Queries a metric by instance; `what` distinguishes it from the panel's other metrics. */
export function perInstance(name: SeriesName, what?: string): Query {
  return { expr: selected(name), legend: what === undefined ? each : `${what} ${each}` };
}

/** Builds the expression of a counter's growth per second, summed by labels. */
export function rateBy<N extends SeriesName>(labels: string, name: N, matchers?: MatchersOf<N>): string {
  return `sum by (${labels}) (rate(${selected(name, matchers)}[$__rate_interval]))`;
}

/** Builds the expression of a quantile of a histogram's buckets, by labels. */
export function quantile<N extends Extract<SeriesName, `${string}_bucket`>>(
  share: number,
  labels: string,
  name: N,
  matchers?: MatchersOf<N>,
): string {
  const by = labels === "" ? "le" : `${labels}, le`;
  return `histogram_quantile(${share}, ${rateBy(by, name, matchers)})`;
}
