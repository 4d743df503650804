import { version } from "#daemon/version.ts";
import type { ServiceName } from "../services/service-spec.ts";

/** Labels with which Kubernetes and operators find a service's objects (Kubernetes, "Recommended Labels"). */
export type Labels = Readonly<Record<string, string>>;

/** The part of a stack that owns an object: a service, or the whole stack. */
export type Component = ServiceName | "stack";

/** Builds the labels for a stack's objects, by owning service. */
export function buildObjectLabels(prefix: string, component: Component): Labels {
  return { ...buildPodLabels(prefix, component), "app.kubernetes.io/version": version };
}

/** Builds the labels for a service's pods. The version is omitted: otherwise, a new version of the program alone would roll all pods, including the node's. */
export function buildPodLabels(prefix: string, component: Component): Labels {
  return {
    "app.kubernetes.io/name": "gatehouse",
    "app.kubernetes.io/part-of": "gatehouse",
    "app.kubernetes.io/managed-by": "pulumi",
    ...buildSelectorLabels(prefix, component),
  };
}

/** Builds the labels that select a service's pods. */
export function buildSelectorLabels(prefix: string, component: Component): Labels {
  return { "app.kubernetes.io/instance": prefix, "app.kubernetes.io/component": findPod(component) };
}

/** Returns the service whose name identifies the pod in which a service runs: the sidecar runs in the node's pod. */
export function findPod<Name extends Component>(service: Name): Name | "node" {
  return service === "sidecar" || service === "restore" ? "node" : service;
}
