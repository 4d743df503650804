import { stringify } from "yaml";
import { podRelabelling } from "./scrape-config.ts";
import { type RuleGroup, nameRunbookFile, type Alert } from "./alert.ts";

const notice = " Made by `npm run docs` from infra/observability; do not edit.";

/**
 * Writes the rules in each form that is requested, by path: a rule file of Prometheus, a `PrometheusRule` for its operator, and the two
 * files of a compiled mixin. The same input gives the same bytes.
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

/** Renders the rules as a rule file of Prometheus, in YAML. */
export function renderRuleFile(groups: readonly RenderedGroup[]): string {
  return toYaml({ groups });
}

/**
 * Builds the object in which Prometheus's operator takes the rules.
 *
 * @param labels what the operator's `ruleSelector` requests, such as `release: kube-prometheus-stack`.
 */
export function buildPrometheusRule(groups: readonly RenderedGroup[], labels: Readonly<Record<string, string>> = {}) {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "gatehouse", labels: { "app.kubernetes.io/name": "gatehouse", ...labels } },
    spec: { groups },
  } as const;
}

/** Renders the relabelling by which a scrape job over pods names Gatehouse's services as the rules expect it. */
export function renderPodRelabelling(): string {
  return toYaml({ relabel_configs: podRelabelling });
}

function toYaml(value: unknown): string {
  return `#${notice}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

export type RunbookOptions = Readonly<{
  /** URL of the folder of the runbooks, with or without a slash at its end. */
  runbookBaseUrl: string;
}>;

/** Targets of the dashboards' links. */
export type LinkOptions = RunbookOptions &
  Readonly<{
    /** URL of the stack's logs; may contain variables of the dashboards. */
    logsUrl?: string | undefined;
  }>;

/** A group of rules in the form of Prometheus's rule files. */
type RenderedGroup = Readonly<{ name: string; rules: readonly Readonly<Record<string, unknown>>[] }>;

/** Renders the groups as Prometheus reads them: recordings, then alerts. */
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
