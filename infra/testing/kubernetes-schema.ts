/** A Kubernetes object's kind, by which its published schema is found. */
type Typed = Readonly<{ apiVersion: string; kind: string }>;

type Model = new (data: Typed) => Readonly<{ validate: () => void }>;

/**
 * What the published OpenAPI schema of an object's kind has against it, a line each. Fields that the schema does not know are the
 * type checker's part: the builders are typed by the same schemas.
 */
export async function schemaFindings(manifest: Typed): Promise<readonly string[]> {
  const loaded = (await import(`kubernetes-models/${manifest.apiVersion}/${manifest.kind}`)) as Record<string, Model>;
  const model = loaded[manifest.kind];
  if (model === undefined) return [`there is no schema of ${manifest.apiVersion} ${manifest.kind}`];
  try {
    new model(manifest).validate();
    return [];
  } catch (error) {
    return [String(error)];
  }
}
