import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

/** Use of the requested CPU that the cluster aims at: room for a payment burst while another pod starts. */
const cpuTargetPercent = 70;
/** Pods are taken away only after this long without need, so that a wave of payments is not met by too few. */
const scaleDownAfterSeconds = 300;

/** Scales a service between its bounds by its use of CPU; undefined where both bounds are the same. */
export function autoscalerOf(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.autoscaling.v2.HorizontalPodAutoscaler | undefined {
  if (!isAutoscaled(spec)) return undefined;
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: spec.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: spec.name },
      minReplicas: spec.replicas.min,
      maxReplicas: spec.replicas.max,
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: cpuTargetPercent } },
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

/** Whether the cluster chooses how many pods of a service there are. */
export function isAutoscaled({ replicas }: ServiceSpec): boolean {
  return replicas.max > replicas.min;
}
