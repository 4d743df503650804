import { runbookFile, type Alert, type RuleGroup } from "./alert.ts";

/** Where the runbooks are read. */
export type RunbookOptions = Readonly<{
  /** URL of the folder of the runbooks, with or without a slash at its end. */
  runbookBaseUrl: string;
}>;

/** A group of rules as a rule file of Prometheus has it. */
export type RenderedGroup = Readonly<{ name: string; rules: readonly Readonly<Record<string, unknown>>[] }>;

/** The groups as Prometheus reads them: what is recorded, then the alerts. */
export function renderGroups(groups: readonly RuleGroup[], options: RunbookOptions): readonly RenderedGroup[] {
  return groups.map(({ name, recordings, alerts }) => ({
    name,
    rules: [...recordings, ...alerts.map((alert) => renderAlert(alert, options))],
  }));
}

function renderAlert(alert: Alert, { runbookBaseUrl }: RunbookOptions): Readonly<Record<string, unknown>> {
  const { name, expr, severity, summary, description } = alert;
  const runbook = `${runbookBaseUrl.replace(/\/+$/, "")}/${runbookFile(name)}`;
  const annotations = { summary, description, runbook_url: runbook };
  return { alert: name, expr, for: alert.for, labels: { severity }, annotations };
}
