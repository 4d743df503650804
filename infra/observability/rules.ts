import { parse, stringify } from "yaml";
import { z } from "zod";
import { readProgramFile } from "#daemon/files/program-files.ts";

/** Base URL of the runbooks in the files, until a stack specifies one: a domain that nobody owns. */
export const placeholderRunbooks = "https://gatehouse.example/docs/runbooks";

export type RunbookOptions = Readonly<{
  /** URL of the runbook directory, with or without a trailing slash. */
  runbookBaseUrl: string;
}>;

const recording = z.strictObject({ record: z.templateLiteral(["gatehouse:", z.string()]), expr: z.string() });

const alert = z.strictObject({
  alert: z.templateLiteral(["Gatehouse", z.string()]),
  expr: z.string(),
  for: z.string(),
  /** `critical` pages the operator, `warning` can wait until morning, `none` is informational. */
  labels: z.strictObject({ severity: z.enum(["critical", "warning", "none"]) }),
  annotations: z.strictObject({ summary: z.string(), description: z.string(), runbook_url: z.url() }),
});

export type Alert = Readonly<z.output<typeof alert>>;

const ruleFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([recording, alert])) })),
});

/** Rules evaluated together, in the format of Prometheus's rule files. */
export type RuleGroup = Readonly<z.output<typeof ruleFile>["groups"][number]>;

/** Reads Gatehouse's rules from `prometheus-rules.yaml`; with `watchdog`, also the alert that always fires. */
export function readRuleGroups({
  runbookBaseUrl,
  watchdog = false,
}: RunbookOptions & Readonly<{ watchdog?: boolean | undefined }>): readonly RuleGroup[] {
  const names = ["prometheus-rules.yaml", ...(watchdog ? ["watchdog-rules.yaml"] : [])];
  return names.flatMap((name) => {
    const text = setRunbookBase(readProgramFile("infra/observability/rules", name), runbookBaseUrl);
    return ruleFile.parse(parse(text)).groups;
  });
}

/** Replaces the placeholder in the text of a rule file or dashboard. */
export function setRunbookBase(text: string, runbookBaseUrl: string): string {
  return text.replaceAll(placeholderRunbooks, runbookBaseUrl.replace(/\/+$/, ""));
}

export function renderRuleFile(groups: readonly RuleGroup[]): string {
  return toYaml({ groups });
}

/**
 * Builds the `PrometheusRule` object for the Prometheus operator.
 *
 * @param labels labels that match the operator's `ruleSelector`, such as `release: kube-prometheus-stack`.
 */
export function buildPrometheusRule(groups: readonly RuleGroup[], labels: Readonly<Record<string, string>> = {}) {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "gatehouse", labels: { "app.kubernetes.io/name": "gatehouse", ...labels } },
    spec: { groups },
  } as const;
}

export function renderRuleResource(groups: readonly RuleGroup[]): string {
  return toYaml(buildPrometheusRule(groups));
}

function toYaml(value: unknown): string {
  const notice = "# Generated from infra/observability/rules/prometheus-rules.yaml; do not edit.";
  return `${notice}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}
