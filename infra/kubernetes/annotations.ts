import type { KubernetesOptions } from "./kubernetes-options.ts";

/** An object with metadata, and perhaps annotations. */
type Annotated = Readonly<{ metadata?: unknown }>;

/** Annotations for Argo CD and Flux: the object stays when its file is gone, and when the application is deleted. */
const keptByOwners = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/** Annotation for Flux: it applies the object once and then leaves it to its other writers; Argo CD has no such annotation. */
const appliedOnce = { "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" };

/** Marks an object so that `pulumi up` does not wait for it to become ready, and `pulumi refresh` takes one that is not ready for no drift. */
export function markUnawaited<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, { "pulumi.com/skipAwait": "true" });
}

/**
 * Marks a Deployment or StatefulSet: the program's fields win over those of `kubectl scale` or of an autoscaler that is no more, which would fail every
 * update as a conflict.
 */
export function markWorkload<Manifest extends Annotated>(
  manifest: Manifest,
  { awaitsPods = true }: Pick<KubernetesOptions, "awaitsPods">,
): Manifest {
  const forced = annotate(manifest, { "pulumi.com/patchForce": "true" });
  return awaitsPods ? forced : markUnawaited(forced);
}

/** Marks an object so that a controller which applies rendered YAML never deletes it. */
export function markUnpruned<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, keptByOwners);
}

/** Marks an object so that a controller which applies rendered YAML leaves it alone once it is there. */
export function markAppliedOnce<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, appliedOnce);
}

/** Adds annotations to an object. */
export function annotate<Manifest extends Annotated>(
  manifest: Manifest,
  annotations: Readonly<Record<string, string>>,
): Manifest {
  const metadata = (manifest.metadata ?? {}) as Readonly<{ annotations?: Readonly<Record<string, string>> }>;
  return { ...manifest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
