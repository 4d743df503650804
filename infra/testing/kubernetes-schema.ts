/** A Kubernetes object's kind, which identifies its published schema. */
export type Typed = Readonly<{ apiVersion: string; kind: string }>;

type Model = new (data: Typed) => Readonly<{ validate: () => void }>;

const published = {
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
} as const;

/** Returns the module that contains the published schema for an object's kind: from Kubernetes itself, the Gateway API, or the Prometheus operator. */
export function locateSchemaModule({ apiVersion, kind }: Typed): string {
  const own = Object.entries(published).find(([group]) => apiVersion.startsWith(`${group}/`));
  return `${own?.[1] ?? "kubernetes-models"}/${apiVersion}/${kind}`;
}

/** Validates an object against the published OpenAPI schema for its kind. Returns the problems, one per line. */
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
