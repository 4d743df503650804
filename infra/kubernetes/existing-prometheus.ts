import type { types } from "@pulumi/kubernetes";
import { renderDashboards } from "../observability/dashboards.ts";
import { buildPrometheusRule, readRuleGroups } from "../observability/rules.ts";
import { serviceLabel } from "../observability/scrape-config.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildObjectLabels, buildSelectorLabels, type Component, type CustomObject } from "./metadata.ts";

/**
 * Builds the objects through which an existing Prometheus scrapes the stack: a PodMonitor for each service that has metrics, and the
 * alerts. Prometheus scrapes pods rather than Services, because each replica has its own counters, and because the metrics of a sidecar
 * matter most while its node is not ready. The job is `<namespace>/<service>`.
 */
export function buildMonitors(specs: readonly ServiceSpec[], options: KubernetesOptions): readonly CustomObject[] {
  const { observability, namespace, prefix } = options;
  const existing = observability?.existing;
  if (observability === undefined || existing?.by !== "operator") return [];
  const labelsOf = (component: Component) => ({ ...buildObjectLabels(prefix, component), ...existing.labels });
  const rule = buildPrometheusRule(readRuleGroups(observability), labelsOf("stack"));
  return [
    ...specs.flatMap(({ name, metrics }) => {
      if (metrics === undefined) return [];
      const { port, honorLabels } = metrics;
      const endpoint = {
        port,
        path: "/metrics",
        interval: `${observability.scrapeIntervalSeconds}s`,
        ...(honorLabels && { honorLabels }),
        relabelings: [{ targetLabel: serviceLabel, replacement: name }],
      };
      return [
        {
          apiVersion: rule.apiVersion,
          kind: "PodMonitor",
          metadata: { name, namespace, labels: labelsOf(name) },
          spec: { selector: { matchLabels: buildSelectorLabels(prefix, name) }, podMetricsEndpoints: [endpoint] },
        },
      ];
    }),
    ...(existing.rules ? [{ ...rule, metadata: { ...rule.metadata, namespace } }] : []),
  ];
}

/** Builds the dashboards for Grafana's sidecar (k8s-sidecar), each in its own ConfigMap: together, they would approach the max size of a ConfigMap. */
export function buildDashboardMaps(options: KubernetesOptions): readonly types.input.core.v1.ConfigMap[] {
  const { observability, namespace, prefix } = options;
  const existing = observability?.existing;
  if (observability === undefined || existing?.dashboards !== true) return [];
  const labels = { ...buildObjectLabels(prefix, "stack"), ...existing.dashboardLabels };
  return renderDashboards(observability).map(({ uid, fileName, text }) => ({
    metadata: { name: `dashboard-${uid}`, namespace, labels, annotations: { grafana_folder: "Gatehouse" } },
    data: { [fileName]: text },
  }));
}
