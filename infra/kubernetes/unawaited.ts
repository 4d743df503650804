type Annotated = Readonly<{ metadata?: unknown }>;

/** The object, marked so that `pulumi up` goes on without waiting for what becomes of it. */
export function unawaited<Manifest extends Annotated>(manifest: Manifest): Manifest {
  const metadata = (manifest.metadata ?? {}) as Readonly<{ annotations?: Readonly<Record<string, string>> }>;
  const annotations = { ...metadata.annotations, "pulumi.com/skipAwait": "true" };
  return { ...manifest, metadata: { ...metadata, annotations } };
}
