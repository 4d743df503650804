import { hkdfSync } from "node:crypto";
import { stackServices } from "../../stack-services.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import { describeProblem, removeKey, setKeyTo, type ConfigProblem } from "../../config/config-problem.ts";
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

export function findObservabilityProblems(config: StackConfig): readonly ConfigProblem[] {
  const { observability, target, alertmanagerConfig, grafanaPassword } = config;
  const problems: ConfigProblem[] = [];
  const reject = (...problem: Parameters<typeof describeProblem>) => problems.push(describeProblem(...problem));
  if (observability?.existing !== undefined && target !== "kubernetes") {
    const key = "observability.existing";
    reject(
      key,
      "found together with target docker, which has no service discovery for Prometheus.",
      "Remove it",
      removeKey(key),
      ", and have your Prometheus scrape the URLs of the output `urls.operations`.",
    );
  }
  if (observability?.existing !== undefined && observability.prometheus !== undefined) {
    reject(
      "observability.prometheus",
      "found together with observability.existing; two Prometheus servers would send every alert twice.",
      "Remove one of the two",
      removeKey(undefined, { path: true }),
      ".",
    );
  }
  for (const part of ["alertmanager", "grafana"] as const) {
    if (observability?.[part] === undefined || observability.prometheus !== undefined) continue;
    reject(
      `observability.${part}`,
      "found without observability.prometheus, which it requires.",
      setKeyTo("Set ", "observability.prometheus.retentionDays", { value: "15" }),
      ", or remove it.",
    );
  }
  if (alertmanagerConfig !== undefined && observability?.alertmanager === undefined) {
    reject("alertmanagerConfig", "found without observability.alertmanager, which reads it; set both or remove it.");
  }
  if (grafanaPassword !== undefined && observability?.grafana === undefined) {
    reject("grafanaPassword", "found without observability.grafana, which uses it; set both or remove it.");
  }
  return problems;
}

export function findMonitoringWarnings(config: StackConfig): readonly ConfigProblem[] {
  return [findSilentAlertWarning(config), findRunbookWarning(config)].filter((warning) => warning !== undefined);
}

function findRunbookWarning({ observability }: StackConfig): ConfigProblem | undefined {
  if (observability?.runbookBaseUrl !== placeholderRunbooks) return undefined;
  if (observability.prometheus === undefined && observability.existing === undefined) return undefined;
  const key = "observability.runbookBaseUrl";
  return describeProblem(
    key,
    "not set, so links in alerts and dashboards are broken.",
    "With the URL at which your team reads docs/runbooks, ",
    setKeyTo("", key, { value: "<URL>" }),
    ".",
  );
}

/** Warns about alerts without receivers; returns `undefined` if there are receivers, or if the stack does not control that. */
function findSilentAlertWarning({ observability, alertmanagerConfig }: StackConfig): ConfigProblem | undefined {
  if (observability?.prometheus === undefined || alertmanagerConfig !== undefined) return undefined;
  if (observability.alertmanager === undefined) {
    return describeProblem(
      "observability.prometheus",
      "alerts fire in Prometheus, but no one is notified.",
      "For an Alertmanager, ",
      setKeyTo("", "observability.alertmanager.port", { value: String(stackServices.alertmanager.ports.http) }),
      ".",
    );
  }
  return describeProblem(
    "observability.alertmanager",
    "no receiver is set, so it shows alerts but notifies no one.",
    "Write an alertmanager.yml, and ",
    setKeyTo("", "alertmanagerConfig", { secret: true, file: "alertmanager.yml" }),
    ".",
  );
}
