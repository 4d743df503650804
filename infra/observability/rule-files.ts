import { stringify } from "yaml";
import type { RuleGroup } from "./alert.ts";
import { renderGroups, type RunbookOptions } from "./rendered-rules.ts";

/** Where the runbooks are read, and what Prometheus's operator selects rules by. */
export type RuleFilesOptions = RunbookOptions &
  Readonly<{
    /** Name of the `PrometheusRule`. */
    name?: string;
    /** Labels of the `PrometheusRule`; the operator's `ruleSelector` asks for some, such as `release: kube-prometheus-stack`. */
    labels?: Readonly<Record<string, string>>;
  }>;

const notice = " Made by `npm run docs` from infra/observability/rules; do not edit.";

/**
 * Writes the rules in each form that is asked for, by path: a rule file of Prometheus, a `PrometheusRule` for its operator, and the two
 * files of a compiled mixin. The same input gives the same bytes.
 */
export function ruleFiles(groups: readonly RuleGroup[], options: RuleFilesOptions): Readonly<Record<string, string>> {
  const whole = renderGroups(groups, options);
  const only = (kind: "alert" | "record") =>
    whole
      .map(({ name, rules }) => ({ name: `${name}.${kind}s`, rules: rules.filter((rule) => kind in rule) }))
      .filter(({ rules }) => rules.length > 0);
  return {
    "prometheus-rules.yaml": toYaml({ groups: whole }),
    "prometheus-rule-resource.yaml": toYaml(prometheusRule(groups, options)),
    "mixin/prometheus_alerts.yaml": toYaml({ groups: only("alert") }),
    "mixin/prometheus_rules.yaml": toYaml({ groups: only("record") }),
  };
}

/** The rules as Prometheus's operator takes them. */
export function prometheusRule(groups: readonly RuleGroup[], options: RuleFilesOptions) {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: {
      name: options.name ?? "gatehouse",
      labels: { "app.kubernetes.io/name": "gatehouse", ...options.labels },
    },
    spec: { groups: renderGroups(groups, options) },
  } as const;
}

function toYaml(value: unknown): string {
  return `#${notice}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}
