import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import { findServiceRow } from "../stack-services.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildMetadata } from "./metadata.ts";

/**
 * Target CPU usage as a fraction of the limit, which leaves headroom for a payment burst while another pod starts. A utilization target
 * would be a fraction of the request instead.
 */
const cpuTarget = 0.7;
/** Idle time before pods are removed, so that the next wave of payments doesn't meet too few pods. */
const scaleDownAfterSeconds = 300;

/**
 * Builds the CPU-based autoscaler for a service whose ledger is in a database; returns undefined for other services. A service whose min
 * equals its max has one too: otherwise, when they become equal, the old autoscaler would rescale the service before Pulumi deletes it.
 */
export function buildAutoscaler(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.autoscaling.v2.HorizontalPodAutoscaler | undefined {
  if (!hasAutoscaler(spec)) return undefined;
  return {
    metadata: buildMetadata(options, spec.name, spec.name),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: spec.name },
      minReplicas: spec.replicas.min,
      maxReplicas: spec.replicas.max,
      metrics: [
        {
          type: "Resource",
          resource: {
            name: "cpu",
            target: { type: "AverageValue", averageValue: `${Math.round(spec.limits.cpus * cpuTarget * 1_000)}m` },
          },
        },
      ],
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: scaleDownAfterSeconds,
          policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
        },
      },
    },
  };
}

function hasAutoscaler({ name, volumes }: ServiceSpec): boolean {
  return findServiceRow(name).keeps === "ledger" && volumes.length === 0;
}

/** Lists the properties of a Deployment that the program sets once and then leaves to the autoscaler. */
export function listAutoscaledFields(spec: ServiceSpec): string[] {
  return hasAutoscaler(spec) ? ["spec.replicas"] : [];
}
