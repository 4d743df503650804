import type { SeriesName } from "../metric-catalogue.ts";
import { series } from "../series.ts";
import type { Query } from "./dashboard.ts";

type MatchersOf<N extends SeriesName> = Parameters<typeof series<N>>[1];

/** The variables of every dashboard, as matchers: the stack is the job under which it is scraped, the node its instance. */
export const variables = 'job=~"$job",instance=~"$instance"';

/**
 * A selector of the dashboard's stack and node. A name or a label that no service exposes does not compile.
 *
 * @example selected("gatehouse_node_up") // gatehouse_node_up{job=~"$job",instance=~"$instance"}
 */
export function selected<N extends SeriesName>(name: N, matchers?: MatchersOf<N>): string {
  const own = series(name, matchers)
    .slice(name.length)
    .replace(/^\{|\}$/g, "");
  return `${name}{${own === "" ? "" : `${own},`}${variables}}`;
}

/** What a series is called that each instance has one of. */
export const each = "{{instance}}";

/** A metric as each instance has it; `what` tells it from the panel's others. */
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
