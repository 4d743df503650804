/** An object with metadata, and perhaps annotations. */
type Annotated = Readonly<{ metadata?: unknown }>;

/** What Argo CD and Flux read: the object stays when its file is gone, and when the application is deleted. */
const keptByOwners = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/** Flux applies the object once and then leaves it to whoever else writes it; Argo CD has no annotation for that. */
const appliedOnce = { "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" };

/** The object, marked so that a controller which applies rendered YAML never deletes it. */
export function markUnpruned<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, keptByOwners);
}

/** The object, marked so that a controller which applies rendered YAML leaves it alone once it is there. */
export function markAppliedOnce<Manifest extends Annotated>(manifest: Manifest): Manifest {
  return annotate(manifest, appliedOnce);
}

/** The object with more annotations. */
export function annotate<Manifest extends Annotated>(
  manifest: Manifest,
  annotations: Readonly<Record<string, string>>,
): Manifest {
  const metadata = (manifest.metadata ?? {}) as Readonly<{ annotations?: Readonly<Record<string, string>> }>;
  return { ...manifest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
