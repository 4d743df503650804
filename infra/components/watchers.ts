import type { ComponentResource } from "@pulumi/pulumi";
import type { Platform } from "../platform.ts";
import { alertmanagerSpec } from "../services/alertmanager-spec.ts";
import type { BuiltService } from "../services/built-service.ts";
import { grafanaSpec } from "../services/grafana-spec.ts";
import type { ObservabilityArgs } from "../services/observability-args.ts";
import { prometheusSpec } from "../services/prometheus-spec.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import { Service } from "./service.ts";

/** What watches a stack, each part where the stack brings it. */
export type BuiltWatchers = Readonly<
  Partial<Record<"prometheus" | "alertmanager" | "grafana", BuiltService | undefined>>
>;

/** Builds what watches these services. */
export function buildWatchers(args: ObservabilityArgs | undefined, services: readonly ServiceSpec[]): BuiltWatchers {
  if (args === undefined) return {};
  return {
    prometheus: prometheusSpec({ ...args.prometheus, services }),
    alertmanager: args.alertmanager && alertmanagerSpec(args.alertmanager),
    grafana: args.grafana && grafanaSpec(args.grafana),
  };
}

/** Deploys what watches a stack. It waits for no service: whoever starts too late is what it is there to see. */
export function deployWatchers(
  name: string,
  { prometheus, alertmanager, grafana }: BuiltWatchers,
  { platform, parent }: Readonly<{ platform: Platform; parent: ComponentResource }>,
): void {
  const place = (type: "Prometheus" | "Alertmanager" | "Grafana", service: BuiltService) =>
    new Service(type, `${name}-${service.spec.name}`, { service, platform }, { parent });
  if (alertmanager !== undefined) place("Alertmanager", alertmanager);
  if (prometheus !== undefined) place("Prometheus", prometheus);
  if (grafana !== undefined) place("Grafana", grafana);
}
