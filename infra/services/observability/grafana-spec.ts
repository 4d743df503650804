import { stringify } from "yaml";
import { stackServices } from "../../stack-services.ts";
import { renderDashboards } from "../../observability/dashboards.ts";
import type { DeploymentSecret } from "../../config/deployment-secret.ts";
import type { BundledService } from "../bundled-service.ts";
import type { BuiltService } from "../built-service.ts";
import { deriveGrafanaPassword } from "./observability-args.ts";
import { filesDirectory, oneReplica, serviceUser, type ResourceLimits, type ServiceSpec } from "../service-spec.ts";

export type GrafanaArgs = Readonly<{
  /** Password for the user `admin`; Grafana reads it only when it first starts. */
  password: DeploymentSecret;
  runbookBaseUrl: string;
  logsUrl: string | undefined;
  /** Scrape interval in seconds, so that each rate covers several samples. */
  intervalSeconds: number;
  /** Host of the stack's own Prometheus. */
  prometheus: string;
  limits?: ResourceLimits | undefined;
}>;

const { ports } = stackServices.grafana;

/** The user in the official image (Grafana's documentation, "Run Grafana Docker image"). */
const grafanaUser = 472;

const provisioning = "/etc/grafana/provisioning";
const passwordFile = "admin-password";

/** Builds the Prometheus data source for Grafana (Grafana's documentation, "Provision Grafana"). */
function buildDatasource({ prometheus, intervalSeconds }: GrafanaArgs) {
  const own = { name: "Prometheus", uid: "prometheus", type: "prometheus", access: "proxy", isDefault: true };
  // Grafana's default is 15 s, and a one-minute rate over samples one minute apart is empty.
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
 * Builds a Grafana with Gatehouse's dashboards on top of the stack's Prometheus. Its files are in both of Grafana's provisioning
 * directories; in each, Grafana reads only the relevant part of each file. It connects only to Prometheus: no usage reporting, no update
 * checks.
 */
export function grafanaSpec(args: GrafanaArgs): BuiltService {
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
      { name: passwordFile, content: args.password.value, secret: true },
      { name: "datasource.yaml", content: stringify(buildDatasource(args)), secret: false },
      { name: "provider.yaml", content: stringify(provider), secret: false },
      ...renderDashboards(args).map(({ fileName, text }) => ({ name: fileName, content: text, secret: false })),
    ],
    furtherFilesDirectories: [`${provisioning}/datasources`, `${provisioning}/dashboards`],
    ports: [{ name: "http", number: ports.http, audience: "system" }],
    volumes: [{ name: "grafana-data", path: "/var/lib/grafana", readOnly: false, keep: false, sizeGibibytes: 1 }],
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
    limits: args.limits ?? { cpus: 0.5, memoryMebibytes: 512 },
    user: { uid: grafanaUser, gid: serviceUser.gid },
    stopGraceSeconds: 30,
    replicas: oneReplica,
  };
  return { spec, problems: [] };
}

/** The Grafana for a stack's own Prometheus. */
export const grafana: BundledService<GrafanaArgs> = {
  isBundled: ({ observability }) => observability?.grafana !== undefined,
  readArgs: (config, { prefix, addresses, secret }) => {
    const { observability, limits } = config;
    const password = deriveGrafanaPassword(config, prefix);
    if (observability === undefined || password === undefined) return undefined;
    const { runbookBaseUrl, logsUrl, scrapeIntervalSeconds } = observability;
    return {
      password: secret(password),
      runbookBaseUrl,
      logsUrl,
      intervalSeconds: scrapeIntervalSeconds,
      prometheus: addresses.prometheus,
      limits: limits.grafana,
    };
  },
  build: grafanaSpec,
};
