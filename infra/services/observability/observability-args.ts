import { hkdfSync } from "node:crypto";
import { stackServices } from "../../stack-services.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import { describeProblem, type ConfigProblem } from "../../config/config-problem.ts";
import type { ProblemParts } from "../../config/problem-parts.ts";
import { placeholderRunbooks } from "../../observability/rules.ts";
import { findStackSecret } from "../node/dev-accounts.ts";

/**
 * Returns the password for Grafana's admin: the configured one, or one derived from the stack's secret (HKDF, RFC 5869), so that nothing else
 * needs to be stored, and neither reveals the other. Returns `undefined` if the stack has neither, which preflight rejects.
 */
export function deriveGrafanaPassword(config: StackConfig, prefix: string): string | undefined {
  const [{ grafanaPassword }, stackSecret] = [config, findStackSecret(config)];
  if (grafanaPassword !== undefined || stackSecret === undefined) return grafanaPassword;
  const bytes = hkdfSync("sha256", stackSecret, prefix, "gatehouse grafana admin", 24);
  return Buffer.from(bytes).toString("base64url");
}

/** Reports problems with a stack's monitoring. */
export function findObservabilityProblems(config: StackConfig): readonly ConfigProblem[] {
  const { observability, target, alertmanagerConfig, grafanaPassword } = config;
  const problems: ConfigProblem[] = [];
  const refuse = (key: string, wrong: string, ...remedy: ProblemParts["remedy"]) =>
    problems.push(describeProblem(key, { wrong, remedy }));
  if (observability?.existing !== undefined && target !== "kubernetes") {
    const key = "observability.existing";
    refuse(
      key,
      "found together with target docker, which has no service discovery for Prometheus.",
      "Remove it",
      { kind: "remove", key },
      ", and have your Prometheus scrape the URLs of the output `urls.operations`.",
    );
  }
  if (observability?.existing !== undefined && observability.prometheus !== undefined) {
    refuse(
      "observability.prometheus",
      "found together with observability.existing; two Prometheus servers would send every alert twice.",
      "Remove one of the two",
      { kind: "remove", path: true },
      ".",
    );
  }
  for (const part of ["alertmanager", "grafana"] as const) {
    if (observability?.[part] === undefined || observability.prometheus !== undefined) continue;
    refuse(
      `observability.${part}`,
      "found without observability.prometheus, which it requires.",
      { kind: "set-to", said: "Set ", key: "observability.prometheus.retentionDays", value: "15" },
      ", or remove it.",
    );
  }
  if (alertmanagerConfig !== undefined && observability?.alertmanager === undefined) {
    refuse("alertmanagerConfig", "found without observability.alertmanager, which reads it; set both or remove it.");
  }
  if (grafanaPassword !== undefined && observability?.grafana === undefined) {
    refuse("grafanaPassword", "found without observability.grafana, which uses it; set both or remove it.");
  }
  return problems;
}

/** Warns about gaps in a stack's monitoring before deployment. */
export function warnAboutMonitoring(config: StackConfig): readonly ConfigProblem[] {
  return [warnOfSilentAlerts(config), warnOfNobodysRunbooks(config)].filter((warning) => warning !== undefined);
}

function warnOfNobodysRunbooks({ observability }: StackConfig): ConfigProblem | undefined {
  if (observability?.runbookBaseUrl !== placeholderRunbooks) return undefined;
  if (observability.prometheus === undefined && observability.existing === undefined) return undefined;
  const key = "observability.runbookBaseUrl";
  return describeProblem(key, {
    wrong: "not set, so links in alerts and dashboards are broken.",
    remedy: [
      "With the URL at which your team reads docs/runbooks, ",
      { kind: "set-to", said: "", key, value: "<URL>" },
      ".",
    ],
  });
}

/** Warns about alerts that notify nobody; returns `undefined` if they notify someone, or if the stack does not control that. */
function warnOfSilentAlerts({ observability, alertmanagerConfig }: StackConfig): ConfigProblem | undefined {
  if (observability?.prometheus === undefined || alertmanagerConfig !== undefined) return undefined;
  if (observability.alertmanager === undefined) {
    const port = { key: "observability.alertmanager.port", value: String(stackServices.alertmanager.ports.http) };
    return describeProblem("observability.prometheus", {
      wrong: "alerts fire in Prometheus but nobody is notified.",
      remedy: ["For an Alertmanager, ", { kind: "set-to", said: "", ...port }, "."],
    });
  }
  const file = { key: "alertmanagerConfig", secret: true, file: "alertmanager.yml" };
  return describeProblem("observability.alertmanager", {
    wrong: "no receiver is set, so it shows alerts but notifies nobody.",
    remedy: ["Write an alertmanager.yml, and ", { kind: "set-to", said: "", ...file }, "."],
  });
}
