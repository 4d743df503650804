import { stringify } from "yaml";
import { podRelabelling } from "./scrape-config.ts";
import { type RuleGroup, nameRunbookFile, type Alert } from "./alert.ts";

const notice = " Made by `npm run docs` from infra/observability; do not edit.";

/**
 * Renders the rules in each requested format, keyed by path: a Prometheus rule file, a `PrometheusRule` for the Prometheus operator, and
 * the two files of a compiled mixin. The same input yields the same bytes.
 */
export function renderRuleFiles(
  groups: readonly RuleGroup[],
  options: RunbookOptions,
): Readonly<Record<string, string>> {
  const whole = renderGroups(groups, options);
  const only = (kind: "alert" | "record") =>
    whole
      .map(({ name, rules }) => ({ name: `${name}.${kind}s`, rules: rules.filter((rule) => kind in rule) }))
      .filter(({ rules }) => rules.length > 0);
  return {
    "prometheus-rules.yaml": renderRuleFile(whole),
    "prometheus-rule-resource.yaml": toYaml(buildPrometheusRule(whole)),
    "mixin/prometheus_alerts.yaml": renderRuleFile(only("alert")),
    "mixin/prometheus_rules.yaml": renderRuleFile(only("record")),
  };
}

/** Renders the rules as a Prometheus rule file in YAML. */
export function renderRuleFile(groups: readonly RenderedGroup[]): string {
  return toYaml({ groups });
}

/**
 * Builds the `PrometheusRule` object for the Prometheus operator.
 *
 * @param labels labels that match the operator's `ruleSelector`, such as `release: kube-prometheus-stack`.
 */
export function buildPrometheusRule(groups: readonly RenderedGroup[], labels: Readonly<Record<string, string>> = {}) {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "gatehouse", labels: { "app.kubernetes.io/name": "gatehouse", ...labels } },
    spec: { groups },
  } as const;
}

/** Renders the relabelling with which a pod scrape job labels Gatehouse's services in the way the rules expect. */
export function renderPodRelabelling(): string {
  return toYaml({ relabel_configs: podRelabelling });
}

function toYaml(value: unknown): string {
  return `#${notice}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

export type RunbookOptions = Readonly<{
  /** URL of the runbook directory, with or without a trailing slash. */
  runbookBaseUrl: string;
}>;

/** Targets of the links on the dashboards. */
export type LinkOptions = RunbookOptions &
  Readonly<{
    /** URL of the stack's logs; may contain dashboard variables. */
    logsUrl?: string | undefined;
  }>;

/** A rule group in the format of Prometheus's rule files. */
type RenderedGroup = Readonly<{ name: string; rules: readonly Readonly<Record<string, unknown>>[] }>;

/** Renders the groups in Prometheus's order: recordings, then alerts. */
export function renderGroups(groups: readonly RuleGroup[], options: RunbookOptions): readonly RenderedGroup[] {
  return groups.map(({ name, recordings, alerts }) => ({
    name,
    rules: [...recordings, ...alerts.map((alert) => renderAlert(alert, options))],
  }));
}

function renderAlert(alert: Alert, { runbookBaseUrl }: RunbookOptions): Readonly<Record<string, unknown>> {
  const { name, expr, severity, summary, description } = alert;
  const runbook = `${runbookBaseUrl.replace(/\/+$/, "")}/${nameRunbookFile(name)}`;
  const annotations = { summary, description, runbook_url: runbook };
  return { alert: name, expr, for: alert.for, labels: { severity }, annotations };
}
