import type { ruleGroups } from "../rules/all.ts";
import type { SeriesName } from "../series-name.ts";
import { series } from "../series.ts";

/** How Grafana writes values; its own ids of units. */
export type Unit = "short" | "reqps" | "cps" | "s" | "bytes" | "percentunit" | "none" | "bool_yes_no";

/** One expression of a panel. */
type Query = Readonly<{
  expr: string;
  /** What a series is called: a Grafana template of its labels. */
  legend: string;
}>;

/** One picture: what it shows, why one looks at it, in which unit. */
export type Panel = Readonly<{
  title: string;
  /** What it shows, and what to think of it. */
  description: string;
  unit: Unit;
  queries: readonly [Query, ...Query[]];
  /** Default: a time series. `states` shows 1, 0 and -1 over time as right, wrong and not known. */
  kind?: "timeseries" | "stat" | "states";
  /** Of 24 columns; default 8. */
  width?: 4 | 6 | 8 | 12 | 24;
  /** Alerts that rest on what is shown; the panel links to their runbooks. */
  alerts?: readonly AlertName[];
  /** A value that should not be exceeded, or (with `low`) not be fallen short of; drawn as a line. */
  threshold?: Readonly<{ value: number; low?: true }>;
  /** Series that a stack has only with this setting, or in that trouble. */
  onlyWith?: string;
}>;

/** Name of an alert of Gatehouse. */
export type AlertName = (typeof ruleGroups)[number]["alerts"][number]["name"];

/** One dashboard, before it is written as Grafana has it. */
export type Dashboard = Readonly<{
  /** Never changes: links and bookmarks go by it. */
  uid: `gatehouse-${string}`;
  title: string;
  description: string;
  rows: readonly Readonly<{ title: string; panels: readonly Panel[] }>[];
}>;

type MatchersOf<N extends SeriesName> = Parameters<typeof series<N>>[1];

/** The dashboard's stacks, as a matcher: a stack is what all of its jobs, `<stack>/<service>`, begin with. A job without a slash is its own stack. */
export const ofStack = 'job=~"(?:$stack)(?:/[^/]+)?"';

/** The variables of every dashboard, as matchers. */
export const variables = `${ofStack},instance=~"$instance"`;

/**
 * A selector of the dashboard's stack and node. A name or a label that no service exposes does not compile.
 *
 * @example selected("gatehouse_node_up") // gatehouse_node_up{job=~"(?:$stack)(?:/[^/]+)?",instance=~"$instance"}
 */
export function selected<N extends SeriesName>(name: N, matchers?: MatchersOf<N>): string {
  const own = series(name, matchers)
    .slice(name.length)
    .replace(/^\{|\}$/g, "");
  return `${name}{${own === "" ? "" : `${own},`}${variables}}`;
}

/** What a series is called that each instance has one of. */
export const each = "{{instance}}";

/** A metric as each instance has it; `what` distinguishes it from the panel's others. */
export function perInstance(name: SeriesName, what?: string): Query {
  return { expr: selected(name), legend: what === undefined ? each : `${what} ${each}` };
}

/** How much a counter grows a second, summed by labels. */
export function rateBy<N extends SeriesName>(labels: string, name: N, matchers?: MatchersOf<N>): string {
  return `sum by (${labels}) (rate(${selected(name, matchers)}[$__rate_interval]))`;
}

/** A quantile of a histogram's buckets, by labels. */
export function quantile<N extends Extract<SeriesName, `${string}_bucket`>>(
  share: number,
  labels: string,
  name: N,
  matchers?: MatchersOf<N>,
): string {
  const by = labels === "" ? "le" : `${labels}, le`;
  return `histogram_quantile(${share}, ${rateBy(by, name, matchers)})`;
}
