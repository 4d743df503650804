import type { types } from "@pulumi/kubernetes";
import { dashboards } from "../observability/dashboards/all.ts";
import { dashboardFiles } from "../observability/dashboards/grafana.ts";
import { prometheusRule } from "../observability/rule-files.ts";
import { ruleGroups } from "../observability/rules/all.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { selectorLabels, stackLabels, type Labels } from "./labels.ts";

/** An object of Prometheus's operator, which Kubernetes itself has no type for. */
type Monitor = Readonly<{
  apiVersion: "monitoring.coreos.com/v1";
  kind: "PodMonitor" | "PrometheusRule";
  metadata: Readonly<{ name: string; namespace: string; labels: Labels }>;
  spec: Readonly<Record<string, unknown>>;
}>;

/**
 * What tells an operator's Prometheus of the stack: a PodMonitor for each service with metrics, and the alerts. Pods, not Services, because
 * each replica counts for itself, and because a sidecar whose node is not ready has to be seen above all. The job is `<namespace>/<service>`.
 */
export function monitors(specs: readonly ServiceSpec[], options: KubernetesOptions): readonly Monitor[] {
  const { observability, namespace, prefix } = options;
  const existing = observability?.existing;
  if (observability === undefined || existing?.by !== "operator") return [];
  const labels = { ...stackLabels(prefix), ...existing.labels };
  const rule = prometheusRule(ruleGroups, { runbookBaseUrl: observability.runbookBaseUrl });
  return [
    ...specs.flatMap((spec) => podMonitor(spec, { options, labels, every: observability.scrapeIntervalSeconds })),
    ...(existing.rules ? [{ ...rule, metadata: { name: rule.metadata.name, namespace, labels } }] : []),
  ];
}

/** The dashboards as Grafana's sidecar (k8s-sidecar) finds them, one ConfigMap each: together they would be near the size that a ConfigMap may have. */
export function dashboardMaps(options: KubernetesOptions): readonly types.input.core.v1.ConfigMap[] {
  const { observability, namespace, prefix } = options;
  const existing = observability?.existing;
  if (observability === undefined || existing?.dashboards !== true) return [];
  const labels = { ...stackLabels(prefix), ...existing.dashboardLabels };
  return Object.entries(dashboardFiles(dashboards, observability)).map(([path, text]) => {
    const file = path.replace(/^dashboards\//, "");
    const name = `dashboard-${file.replace(/\.json$/, "")}`;
    return {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace, labels, annotations: { grafana_folder: "Gatehouse" } },
      data: { [file]: text },
    };
  });
}

function podMonitor(
  { name, metrics }: ServiceSpec,
  { options, labels, every }: Readonly<{ options: KubernetesOptions; labels: Labels; every: number }>,
): readonly Monitor[] {
  if (metrics === undefined) return [];
  const { port, honorLabels } = metrics;
  const endpoint = { port, path: "/metrics", interval: `${every}s`, ...(honorLabels && { honorLabels }) };
  return [
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "PodMonitor",
      metadata: { name, namespace: options.namespace, labels },
      spec: {
        selector: { matchLabels: { ...selectorLabels(options.prefix, name) } },
        podMetricsEndpoints: [endpoint],
      },
    },
  ];
}
