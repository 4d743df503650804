/** Urgency: `critical` wakes a person, `warning` waits for the morning, `none` is no trouble. */
export type Severity = "critical" | "warning" | "none";

/** One alerting rule, before it is written in a form of Prometheus. */
export type Alert = Readonly<{
  name: `Gatehouse${string}`;
  /** PromQL; made of selectors of `series.ts`. */
  expr: string;
  /** Time that the expression has to hold, as Prometheus writes durations. */
  for: string;
  severity: Severity;
  /** Summary of the trouble and its place, with the value. A Prometheus template. */
  summary: string;
  /** Consequences, and the first step to take. A Prometheus template that shows labels, but never the value. */
  description: string;
}>;

/** Base URL of the runbooks until a stack names one: a domain that nobody has. */
export const nobodysRunbooks = "https://gatehouse.example/docs/runbooks";

/** One recording rule. */
export type Recording = Readonly<{ record: `gatehouse:${string}`; expr: string }>;

/** Rules that are evaluated together, recordings first. */
export type RuleGroup = Readonly<{ name: string; recordings: readonly Recording[]; alerts: readonly Alert[] }>;

/**
 * Names the file of an alert's page in `docs/runbooks/`.
 *
 * @example nameRunbookFile("GatehouseNodeDown") // "node-down.md"
 */
export function nameRunbookFile(name: Alert["name"]): string {
  const words = name.slice("Gatehouse".length).match(/[A-Z][a-z]*/g) ?? [];
  return `${words.map((word) => word.toLowerCase()).join("-")}.md`;
}
