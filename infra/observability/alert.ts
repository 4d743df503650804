/** Urgency: `critical` pages the operator, `warning` can wait until morning, `none` is informational. */
export type Severity = "critical" | "warning" | "none";

/** An alerting rule, before it is rendered in a Prometheus format. */
export type Alert = Readonly<{
  name: `Gatehouse${string}`;
  /** PromQL composed from the selectors in `series.ts`. */
  expr: string;
  /** How long the expression must be true, as a Prometheus duration. */
  for: string;
  severity: Severity;
  /** Summary of the problem and its location, including the value. A Prometheus template. */
  summary: string;
  /** Consequences, and the first step to take. A Prometheus template that may contain labels but never the value. */
  description: string;
}>;

/** Base URL of the runbooks until a stack specifies one: a domain that nobody owns. */
export const placeholderRunbooks = "https://gatehouse.example/docs/runbooks";

export type Recording = Readonly<{ record: `gatehouse:${string}`; expr: string }>;

/** Rules evaluated together, recordings first. */
export type RuleGroup = Readonly<{ name: string; recordings: readonly Recording[]; alerts: readonly Alert[] }>;

/**
 * Returns the file name of an alert's page in `docs/runbooks/`.
 *
 * @example nameRunbookFile("GatehouseNodeDown") // "node-down.md"
 */
export function nameRunbookFile(name: Alert["name"]): string {
  const words = name.slice("Gatehouse".length).match(/[A-Z][a-z]*/g) ?? [];
  return `${words.map((word) => word.toLowerCase()).join("-")}.md`;
}
