import { version } from "#daemon/version.ts";
import type { ServiceName } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

/** Labels with which Kubernetes and operators find a service's objects (Kubernetes, "Recommended Labels"), or annotations. */
export type Labels = Readonly<Record<string, string>>;

/** The part of a stack that owns an object: a service, or the whole stack. */
export type Component = ServiceName | "stack";

export function buildMetadata(
  { prefix, namespace }: Pick<KubernetesOptions, "prefix" | "namespace">,
  name: string,
  component: Component,
) {
  return { name, namespace, labels: buildObjectLabels(prefix, component) };
}

export function buildObjectLabels(prefix: string, component: Component): Labels {
  return { ...buildPodLabels(prefix, component), "app.kubernetes.io/version": version };
}

/** Builds the labels for a service's pods. The version is omitted: otherwise, a new version of the program alone would roll all pods, including the node's. */
export function buildPodLabels(prefix: string, component: Component): Record<string, string> {
  return {
    "app.kubernetes.io/name": "gatehouse",
    "app.kubernetes.io/part-of": "gatehouse",
    "app.kubernetes.io/managed-by": "pulumi",
    ...buildSelectorLabels(prefix, component),
  };
}

export function buildSelectorLabels(prefix: string, component: Component): Record<string, string> {
  return { "app.kubernetes.io/instance": prefix, "app.kubernetes.io/component": findPod(component) };
}

/** Returns the service whose name identifies the pod in which a service runs: the sidecar runs in the node's pod. */
export function findPod<Name extends Component>(service: Name): Name | "node" {
  return service === "sidecar" || service === "restore" ? "node" : service;
}

/** An object of a kind that Kubernetes does not have itself. */
export type CustomObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace: string; labels: Labels; annotations?: Labels }>;
  spec: Readonly<Record<string, unknown>>;
}>;

type Annotated = Readonly<{ metadata?: unknown }>;

/** Marks an object so that `pulumi up` does not wait for it to become ready, and `pulumi refresh` does not report it as drift while it is unready. */
export function skipReadyWait<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, { "pulumi.com/skipAwait": "true" });
}

/**
 * Marks a Deployment or StatefulSet so that the program's fields override those set by `kubectl scale` or by a removed autoscaler;
 * otherwise, every update would fail with a conflict.
 */
export function markWorkload<Manifest extends Annotated>(
  manifest: Manifest,
  { awaitsPods = true }: Pick<KubernetesOptions, "awaitsPods">,
): Manifest {
  const forced = annotate(manifest, { "pulumi.com/patchForce": "true" });
  return awaitsPods ? forced : skipReadyWait(forced);
}

/** Marks an object so that Argo CD and Flux retain it when its file is removed or the application is deleted. */
export function markUnpruned<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
  });
}

/** Marks an object so that Flux applies it once and leaves it to its other writers; Argo CD has no equivalent. */
export function markAppliedOnce<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, { "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" });
}

function annotate<Manifest extends Annotated>(manifest: Manifest, annotations: Labels): Manifest {
  const metadata = (manifest.metadata ?? {}) as Readonly<{ annotations?: Labels }>;
  return { ...manifest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
