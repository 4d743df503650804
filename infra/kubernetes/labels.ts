import type { ServiceName } from "../services/service-spec.ts";

/** Labels by which Kubernetes and people find a service's objects; the recommended names of Kubernetes. */
export type Labels = Readonly<Record<string, string>>;

/** Builds the labels of a stack's objects. */
export function buildStackLabels(prefix: string): Labels {
  return {
    "app.kubernetes.io/name": "gatehouse",
    "app.kubernetes.io/instance": prefix,
    "app.kubernetes.io/managed-by": "pulumi",
  };
}

/** Builds the labels that select a service's pods. The sidecar is in the node's pod, so its pods are the node's. */
export function buildSelectorLabels(prefix: string, service: ServiceName): Labels {
  const component = service === "sidecar" || service === "restore" ? "node" : service;
  return { "app.kubernetes.io/instance": prefix, "app.kubernetes.io/component": component };
}
