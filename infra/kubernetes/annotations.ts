import type { KubernetesOptions } from "./kubernetes-options.ts";

/** An object with metadata and optional annotations. */
type Annotated = Readonly<{ metadata?: unknown }>;

/** Annotations for Argo CD and Flux: the object is retained when its file is removed or the application is deleted. */
const keptByOwners = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/** Annotation for Flux, which then applies the object once and leaves it to its other writers; Argo CD has no equivalent. */
const appliedOnce = { "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" };

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

/** Marks an object so that a controller that applies rendered YAML never deletes it. */
export function markUnpruned<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, keptByOwners);
}

/** Marks an object so that a controller that applies rendered YAML does not update it once it exists. */
export function markAppliedOnce<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, appliedOnce);
}

export function annotate<Manifest extends Annotated>(
  manifest: Manifest,
  annotations: Readonly<Record<string, string>>,
): Manifest {
  const metadata = (manifest.metadata ?? {}) as Readonly<{ annotations?: Readonly<Record<string, string>> }>;
  return { ...manifest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
