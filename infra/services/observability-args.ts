import { hkdfSync } from "node:crypto";
import type { StackConfig } from "../config/config-schema.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { Addresses } from "./addresses.ts";
import { alertmanagerImage, type AlertmanagerArgs } from "./alertmanager-spec.ts";
import { grafanaImage, type GrafanaArgs } from "./grafana-spec.ts";
import { prometheusImage, type PrometheusArgs } from "./prometheus-spec.ts";

/** What watches a stack, where the stack brings it. */
export type ObservabilityArgs = Readonly<{
  /** All but the services, which are built beside it. */
  prometheus: Omit<PrometheusArgs, "services">;
  alertmanager: AlertmanagerArgs | undefined;
  grafana: GrafanaArgs | undefined;
}>;

type Context = Readonly<{
  prefix: string;
  addresses: Addresses;
  secret: (text: string) => DeploymentSecret;
}>;

/** What watches a stack; `undefined` where it brings nothing of its own. */
export function observabilityArgsOf(
  config: StackConfig,
  { prefix, addresses, secret }: Context,
  signerPrivateKey: string | undefined,
): ObservabilityArgs | undefined {
  const { observability, limits } = config;
  const { prometheus, alertmanager, grafana } = observability ?? {};
  if (observability === undefined || prometheus === undefined) return undefined;
  const { runbookBaseUrl, scrapeIntervalSeconds: intervalSeconds } = observability;
  const { retentionDays, volumeGibibytes } = prometheus;
  const password = grafanaPasswordOf(config, { prefix, signerPrivateKey });
  return {
    prometheus: {
      prefix,
      hosts: {
        sidecar: addresses.sidecarStatus,
        facilitator: addresses.facilitator,
        "resource-server": addresses.resourceServer,
        pushgateway: addresses.pushgateway,
      },
      intervalSeconds,
      runbookBaseUrl,
      retentionDays,
      volumeGibibytes,
      alertmanager: alertmanager && addresses.alertmanager,
      limits: limits.prometheus,
    },
    alertmanager: alertmanager && {
      config: config.alertmanagerConfig === undefined ? undefined : secret(config.alertmanagerConfig),
      limits: limits.alertmanager,
    },
    grafana:
      grafana === undefined || password === undefined
        ? undefined
        : {
            password: secret(password),
            runbookBaseUrl,
            prometheus: addresses.prometheus,
            limits: limits.grafana,
          },
  };
}

/** The images of what watches a stack, by their services. */
export function observabilityImagesOf({ observability }: StackConfig) {
  const { prometheus, alertmanager, grafana } = observability ?? {};
  return {
    prometheus: prometheus && (prometheus.image ?? prometheusImage),
    alertmanager: alertmanager && (alertmanager.image ?? alertmanagerImage),
    grafana: grafana && (grafana.image ?? grafanaImage),
  };
}

/** The host's ports of what watches a stack, by their services; those that the stack does not bring are absent. */
export function watchersPorts({
  observability,
}: StackConfig): Partial<Record<"prometheus" | "alertmanager" | "grafana", number>> {
  const { prometheus, alertmanager, grafana } = observability ?? {};
  return {
    ...(prometheus && { prometheus: prometheus.port }),
    ...(alertmanager && { alertmanager: alertmanager.port }),
    ...(grafana && { grafana: grafana.port }),
  };
}

/**
 * The password of Grafana's admin: the stack's own, or one made of the signer's key (HKDF, RFC 5869), which every stack has, so that nothing more
 * has to be kept; who knows the one learns nothing about the other. `undefined` where the stack has neither, which the facilitator refuses.
 */
export function grafanaPasswordOf(
  { grafanaPassword }: StackConfig,
  { prefix, signerPrivateKey }: Readonly<{ prefix: string; signerPrivateKey: string | undefined }>,
): string | undefined {
  if (grafanaPassword !== undefined || signerPrivateKey === undefined) return grafanaPassword;
  const bytes = hkdfSync("sha256", signerPrivateKey, prefix, "gatehouse grafana admin", 24);
  return Buffer.from(bytes).toString("base64url");
}
