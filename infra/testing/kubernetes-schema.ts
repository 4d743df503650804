/** A Kubernetes object's kind, which identifies its published schema. */
export type Typed = Readonly<{ apiVersion: string; kind: string }>;

type NamedObject = Typed & Readonly<{ metadata: Readonly<{ name: string }> }>;

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

/** Validates objects against the published OpenAPI schemas for their kinds. Returns the problems, one per line. */
export async function findSchemaViolations(manifests: readonly NamedObject[]): Promise<readonly string[]> {
  const violations = await Promise.all(
    manifests.map(async (manifest) => {
      const loaded = (await import(locateSchemaModule(manifest))) as Record<string, Model>;
      const name = `${manifest.kind} ${manifest.metadata.name}`;
      const model = loaded[manifest.kind];
      if (model === undefined) return [`${name}: there is no schema of ${manifest.apiVersion}`];
      try {
        new model(manifest).validate();
        return [];
      } catch (error) {
        return [`${name}: ${String(error)}`];
      }
    }),
  );
  return violations.flat();
}
