/** A Kubernetes object's kind, which identifies its published schema. */
export type Typed = Readonly<{ apiVersion: string; kind: string }>;

type Model = new (data: Typed) => Readonly<{ validate: () => void }>;

const published = {
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
} as const;

/** Returns the module with the published schema of an object's kind: of Kubernetes itself, of the Gateway API, or of the Prometheus operator. */
export function locateSchemaModule({ apiVersion, kind }: Typed): string {
  const own = Object.entries(published).find(([group]) => apiVersion.startsWith(`${group}/`));
  return `${own?.[1] ?? "kubernetes-models"}/${apiVersion}/${kind}`;
}

/** Validates an object against the published OpenAPI schema of its kind; returns the problems, one per line. */
export async function validateAgainstSchema(manifest: Typed): Promise<readonly string[]> {
  const loaded = (await import(locateSchemaModule(manifest))) as Record<string, Model>;
  const model = loaded[manifest.kind];
  if (model === undefined) return [`there is no schema of ${manifest.apiVersion} ${manifest.kind}`];
  try {
    new model(manifest).validate();
    return [];
  } catch (error) {
    return [String(error)];
  }
}
