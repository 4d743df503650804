import type { ruleGroups } from "../rules/all.ts";

/** How Grafana writes values; its own ids of units. */
export type Unit = "short" | "reqps" | "cps" | "s" | "bytes" | "percentunit" | "none" | "bool_yes_no";

/** One expression of a panel. */
export type Query = Readonly<{
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
