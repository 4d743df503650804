import { z } from "zod";

/** Labels of Kubernetes, or annotations of the same shape. */
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
    .describe("Labels of each PodMonitor and of the PrometheusRule, which the operator's selectors ask for"),
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

const observability = z.strictObject({
  scrapeIntervalSeconds: z
    .int()
    .min(5)
    .max(60)
    .default(30)
    .describe("Seconds between two scrapes of a service; the alerts' rules bear 60 at most"),
  runbookBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default("https://gatehouse.example/docs/runbooks")
    .describe("Where your people read docs/runbooks; alerts and dashboards link to it"),
  existing: existing
    .optional()
    .describe("Kubernetes: fits the stack into a Prometheus that the cluster has; absent: it is not told of the stack"),
});

/** How a stack is watched, by the key `observability`. */
export type Observability = Readonly<z.output<typeof observability>>;

/** The key of how a stack is watched; off where it is absent. */
export const observabilityKeys = {
  observability: observability
    .optional()
    .meta({ expected: "{existing, runbookBaseUrl, …}; see docs/observability.md" })
    .describe("Alerts, dashboards and who scrapes the services: {existing, …}; docs/observability.md"),
};
