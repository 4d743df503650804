import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";

/** What is wrong with how a stack wants to be watched. */
export function observabilityProblems(config: StackConfig): readonly ConfigProblem[] {
  const { observability, target, alertmanagerConfig, grafanaPassword } = config;
  const problems: ConfigProblem[] = [];
  const refuse = (key: string, message: string) => problems.push({ key, message });
  if (observability?.existing !== undefined && target !== "kubernetes") {
    refuse(
      "observability.existing",
      "found beside target docker, where there is no registry of what Prometheus scrapes. Remove it with " +
        "`pulumi config rm --path observability.existing`, and have your Prometheus scrape the URLs of the output `urls.operations`.",
    );
  }
  if (observability?.existing !== undefined && observability.prometheus !== undefined) {
    refuse(
      "observability.prometheus",
      "found beside observability.existing; two Prometheus would tell of every alert twice. Remove one of the two with `pulumi config rm --path`.",
    );
  }
  for (const part of ["alertmanager", "grafana"] as const) {
    if (observability?.[part] === undefined || observability.prometheus !== undefined) continue;
    refuse(
      `observability.${part}`,
      "found without observability.prometheus, which it lives on. Set `pulumi config set --path observability.prometheus.retentionDays 15`, or remove it.",
    );
  }
  if (alertmanagerConfig !== undefined && observability?.alertmanager === undefined) {
    refuse("alertmanagerConfig", "found without observability.alertmanager, which reads it; set both or remove it.");
  }
  if (grafanaPassword !== undefined && observability?.grafana === undefined) {
    refuse("grafanaPassword", "found without observability.grafana, which asks for it; set both or remove it.");
  }
  return problems;
}

/** What a person should know of a stack whose alerts reach nobody; `undefined` where they do, or where that is not the stack's to say. */
export function silentAlertsWarning({ observability, alertmanagerConfig }: StackConfig): string | undefined {
  if (observability?.prometheus === undefined || alertmanagerConfig !== undefined) return undefined;
  if (observability.alertmanager === undefined) {
    return "observability.prometheus: alerts fire in Prometheus and are told to nobody. `pulumi config set --path observability.alertmanager.port 9093` adds an Alertmanager.";
  }
  return "observability.alertmanager: no receiver is set, so that it shows alerts and tells nobody. Write an alertmanager.yml, and `pulumi config set --secret alertmanagerConfig < alertmanager.yml`.";
}
