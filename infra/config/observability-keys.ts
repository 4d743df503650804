import { z } from "zod";
import { port } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { nobodysRunbooks } from "../observability/alert.ts";
import { imageReference } from "./config-types.ts";

/** Kubernetes labels, or annotations of the same shape. */
const labels = z.record(z.string().min(1), z.string().max(63));

const existing = z.strictObject({
  namespace: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    .describe("Namespace of Prometheus's pods; network policies let them in, to the ports with metrics alone"),
  podLabels: labels
    .default({})
    .describe("Labels of Prometheus's pods; with them no other pod of the namespace is let in"),
  by: z
    .enum(["operator", "annotations"])
    .default("operator")
    .describe(
      "How Prometheus finds the pods: operator by a PodMonitor each, annotations by prometheus.io/scrape, port and path on the pods",
    ),
  labels: labels
    .default({})
    .describe("Labels of each PodMonitor and of the PrometheusRule, which the operator's selectors request"),
  rules: z
    .boolean()
    .default(true)
    .describe("Whether the alerts come as a PrometheusRule; with several stacks in one cluster, let one bring them"),
  dashboards: z
    .boolean()
    .default(true)
    .describe("Whether the dashboards come as ConfigMaps; with several stacks in one cluster, let one bring them"),
  dashboardLabels: labels
    .default({ grafana_dashboard: "1" })
    .describe("Labels of the dashboards' ConfigMaps, by which Grafana's sidecar finds them"),
});

/** Docker host port on which operators reach the stack's own server. */
const operatorsPort = (number: number, what: string) =>
  port.min(1).default(number).describe(`Docker: host port, on loopback, of ${what}`);

/** Describes the official image by its name without the digest, for readability. */
const image = (service: "prometheus" | "alertmanager" | "grafana") =>
  imageReference
    .optional()
    .describe(
      `Image, with a digest; default is the official ${stackServices[service].official.split("@")[0]} by its digest`,
    );

const prometheus = z.strictObject({
  image: image("prometheus"),
  retentionDays: z.int().min(1).max(3_650).default(15).describe("How many days samples are kept"),
  volumeGibibytes: z
    .int()
    .min(1)
    .max(65_536)
    .default(10)
    .describe("Size of its volume in GiB; samples take four fifths of it at most, and the oldest go first"),
  port: operatorsPort(stackServices.prometheus.ports.http, "Prometheus"),
});

const alertmanager = z.strictObject({
  image: image("alertmanager"),
  port: operatorsPort(stackServices.alertmanager.ports.http, "the Alertmanager"),
  watchdog: z
    .boolean()
    .default(false)
    .describe("Whether GatehouseWatchdog fires always, for a receiver that wakes somebody when it stops"),
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
    .describe("Seconds between two scrapes of a service; the alerts' rules bear 60 at most"),
  runbookBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default(nobodysRunbooks)
    .describe("Where your people read docs/runbooks; alerts and dashboards link to it"),
  logsUrl: z
    .string()
    .regex(/^https?:\/\/\S+$/)
    .max(2_000)
    .optional()
    .describe(
      "Where your people read the stack's logs, linked from each dashboard; may have Grafana's variables ${stack} and ${instance}",
    ),
  existing: existing
    .optional()
    .describe(
      "Kubernetes: fits the stack into a Prometheus that the cluster has; absent: it does not know of the stack",
    ),
  prometheus: prometheus.optional().describe("A Prometheus of the stack's own; absent: none"),
  alertmanager: alertmanager
    .optional()
    .describe("An Alertmanager next to that Prometheus, with the secret alertmanagerConfig; absent: none"),
  grafana: grafana.optional().describe("A Grafana with the dashboards over that Prometheus; absent: none"),
});

/** A stack's monitoring: the value of `observability`. */
export type Observability = Readonly<z.output<typeof observability>>;

/** Key for a stack's monitoring, which is off if the key is absent. */
export const observabilityKeys = {
  observability: observability
    .optional()
    .meta({ expected: "{existing, prometheus, alertmanager, grafana, …}; see docs/observability.md" })
    .describe(
      "Alerts, dashboards and who scrapes the services: {existing, prometheus, alertmanager, grafana, …}; docs/observability.md",
    ),
};
