import { z } from "zod";
import { port } from "#daemon/settings/types.ts";
import { stackServices } from "../stack-services.ts";
import { placeholderRunbooks } from "../observability/rules.ts";
import { imageReference, namespace } from "./config-types.ts";

/** Kubernetes labels, or annotations, which have the same shape. */
const labels = z.record(z.string().min(1), z.string().max(63));

const existing = z.strictObject({
  namespace: namespace.describe("Namespace of Prometheus's pods; network policies admit them to metrics ports only"),
  podLabels: labels
    .default({})
    .describe("Labels of Prometheus's pods; if set, no other pod in the namespace is admitted"),
  by: z
    .enum(["operator", "annotations"])
    .default("operator")
    .describe(
      "Pod discovery: operator, one PodMonitor per service; annotations, prometheus.io/scrape, port and path on the pods",
    ),
  labels: labels
    .default({})
    .describe("Labels on each PodMonitor and the PrometheusRule, to match the operator's selectors"),
  rules: z
    .boolean()
    .default(true)
    .describe(
      "Whether to deploy the alerts as a PrometheusRule; with several stacks in one cluster, enable it in only one",
    ),
  dashboards: z
    .boolean()
    .default(true)
    .describe(
      "Whether to deploy the dashboards as ConfigMaps; with several stacks in one cluster, enable it in only one",
    ),
  dashboardLabels: labels
    .default({ grafana_dashboard: "1" })
    .describe("Labels on the dashboards' ConfigMaps, to match Grafana's sidecar"),
});

/** Port on the Docker host at which operators reach the stack's own server. */
const operatorsPort = (number: number, what: string) =>
  port.min(1).default(number).describe(`Docker: loopback host port for ${what}`);

/** Describes the official image by its name without the digest, for readability. */
const image = (service: "prometheus" | "alertmanager" | "grafana") =>
  imageReference
    .optional()
    .describe(
      `Image, with a digest; default: the official ${stackServices[service].official.split("@")[0]} pinned by digest`,
    );

const prometheus = z.strictObject({
  image: image("prometheus"),
  retentionDays: z.int().min(1).max(3_650).default(15).describe("Sample retention in days"),
  volumeGibibytes: z
    .int()
    .min(1)
    .max(65_536)
    .default(10)
    .describe("Volume size in GiB; samples use at most 80 %, and the oldest are deleted first"),
  port: operatorsPort(stackServices.prometheus.ports.http, "Prometheus"),
});

const alertmanager = z.strictObject({
  image: image("alertmanager"),
  port: operatorsPort(stackServices.alertmanager.ports.http, "the Alertmanager"),
  watchdog: z
    .boolean()
    .default(false)
    .describe("Whether GatehouseWatchdog always fires, for a receiver that alerts when it stops"),
});

const grafana = z.strictObject({
  image: image("grafana"),
  port: operatorsPort(3_001, "Grafana"),
});

const observability = z.strictObject({
  scrapeIntervalSeconds: z
    .int()
    .min(5)
    .max(60)
    .default(30)
    .describe("Scrape interval of a service, in seconds; the alert rules support at most 60"),
  runbookBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default(placeholderRunbooks)
    .describe("Base URL of docs/runbooks, linked from alerts and dashboards"),
  logsUrl: z
    .string()
    .regex(/^https?:\/\/\S+$/)
    .max(2_000)
    .optional()
    .describe(
      "URL of the stack's logs, linked from each dashboard; may contain Grafana's variables ${stack} and ${instance}",
    ),
  existing: existing
    .optional()
    .describe("Kubernetes: integrates the stack with the cluster's Prometheus; default: no integration"),
  prometheus: prometheus.optional().describe("Deploys a Prometheus with the stack; default: none"),
  alertmanager: alertmanager
    .optional()
    .describe(
      "Deploys an Alertmanager with that Prometheus, configured by the secret alertmanagerConfig; default: none",
    ),
  grafana: grafana
    .optional()
    .describe("Deploys Grafana with the dashboards and that Prometheus as its data source; default: none"),
});

/** Key that enables a stack's monitoring; if absent, monitoring is off. */
export const observabilityKeys = {
  observability: observability
    .optional()
    .meta({ expected: "{existing, prometheus, alertmanager, grafana, …}; see docs/observability.md" })
    .describe(
      "Alerts, dashboards and scraping: {existing, prometheus, alertmanager, grafana, …}; docs/observability.md",
    ),
};
