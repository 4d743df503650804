import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { selectorLabels, stackLabels } from "./labels.ts";

/** Lets the cluster take down one pod of a service at a time, so that nodes can be drained and a replica stays where there are several. */
export function disruptionBudget(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.policy.v1.PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: spec.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: { maxUnavailable: 1, selector: { matchLabels: { ...selectorLabels(options.prefix, spec.name) } } },
  };
}
