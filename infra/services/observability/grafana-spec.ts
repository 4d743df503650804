import { stringify } from "yaml";
import { stackServices } from "../../stack-services.ts";
import { renderDashboards } from "../../observability/dashboards.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import type { BuiltService } from "../built-service.ts";
import { deriveGrafanaPassword } from "./observability-args.ts";
import { filesDirectory, oneReplica, serviceUser, type ServiceSpec } from "../service-spec.ts";
import type { StackContext } from "../stack-context.ts";

const { ports } = stackServices.grafana;

/** The user in the official image (Grafana's documentation, "Run Grafana Docker image"). */
const grafanaUser = 472;

const provisioning = "/etc/grafana/provisioning";
const passwordFile = "admin-password";

function buildDatasource(prometheus: string, intervalSeconds: number) {
  const own = { name: "Prometheus", uid: "prometheus", type: "prometheus", access: "proxy", isDefault: true };
  // Each rate must cover several samples. Grafana's default is 15 s, and a one-minute rate over samples one minute apart is empty.
  const jsonData = { timeInterval: `${intervalSeconds}s` };
  const url = `http://${prometheus}:${stackServices.prometheus.ports.http}`;
  return { apiVersion: 1, datasources: [{ ...own, url, editable: false, jsonData }] };
}

const provider = {
  apiVersion: 1,
  providers: [
    { name: "gatehouse", folder: "Gatehouse", type: "file", allowUiUpdates: false, options: { path: filesDirectory } },
  ],
};

/**
 * Builds a Grafana with Gatehouse's dashboards for the stack's Prometheus. Its files are in both of Grafana's provisioning
 * directories; in each, Grafana reads only the relevant part of each file. It connects only to Prometheus: no usage reporting, no update
 * checks. Returns `undefined` without a password, which preflight rejects.
 */
export function buildGrafanaSpec(
  config: StackConfig,
  { prefix, addresses, secret }: StackContext,
): BuiltService | undefined {
  const { observability, limits } = config;
  const password = deriveGrafanaPassword(config, prefix);
  if (observability === undefined || password === undefined) return undefined;
  const datasource = buildDatasource(addresses.prometheus, observability.scrapeIntervalSeconds);
  const spec: ServiceSpec = {
    name: "grafana",
    image: "grafana",
    arguments: undefined,
    environment: {
      GF_SERVER_HTTP_PORT: String(ports.http),
      GF_LOG_MODE: "console",
      GF_SECURITY_ADMIN_PASSWORD__FILE: `${filesDirectory}/${passwordFile}`,
      GF_USERS_ALLOW_SIGN_UP: "false",
      GF_ANALYTICS_REPORTING_ENABLED: "false",
      GF_ANALYTICS_CHECK_FOR_UPDATES: "false",
      GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: "false",
      GF_PLUGINS_PREINSTALL_DISABLED: "true",
      GF_NEWS_NEWS_FEED_ENABLED: "false",
    },
    files: [
      { name: passwordFile, content: secret(password).value, secret: true },
      { name: "datasource.yaml", content: stringify(datasource), secret: false },
      { name: "provider.yaml", content: stringify(provider), secret: false },
      ...renderDashboards(observability).map(({ fileName, text }) => ({
        name: fileName,
        content: text,
        secret: false,
      })),
    ],
    furtherFilesDirectories: [`${provisioning}/datasources`, `${provisioning}/dashboards`],
    ports: [{ name: "http", number: ports.http, audience: "system" }],
    volumes: [{ name: "grafana-data", path: "/var/lib/grafana", readOnly: false, retain: false, sizeGibibytes: 1 }],
    edges: [{ to: "prometheus", port: "http" }],
    health: {
      kind: "http",
      port: "http",
      readyPath: "/api/health",
      livePath: "/api/health",
      startupPath: "/api/health",
      startWithinSeconds: 120,
      command: ["wget", "-q", "-O", "/dev/null", `http://127.0.0.1:${ports.http}/api/health`],
    },
    limits: limits.grafana ?? { cpus: 0.5, memoryMebibytes: 512 },
    user: { uid: grafanaUser, gid: serviceUser.gid },
    stopGraceSeconds: 30,
    replicas: oneReplica,
  };
  return { spec, problems: [] };
}
