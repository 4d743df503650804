import { runtime } from "@pulumi/pulumi";
import { deployStack } from "../deploy-stack.ts";
import { parseConfig } from "../stack-config.ts";

/** A Kubernetes object as it is applied. */
export type KubernetesObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; labels?: Readonly<Record<string, string>> }>;
}> &
  Readonly<Record<string, unknown>>;

/** Annotations for Pulumi, and a checksum that kustomize does not need: it names a Secret by its content, so that pods follow. */
const ownAnnotations = /^(?:pulumi\.com\/|gatehouse\.io\/files$)/;

/**
 * Renders the objects of a stack on Kubernetes, without Pulumi's engine: the program runs over mocks of the SDK, which are the process's own from then on.
 * Secrets are in them in plain text.
 *
 * @param config the stack's configuration by key, as Pulumi gives it.
 * @returns the objects in the order of their kinds and names.
 */
export async function renderObjects(
  config: Readonly<Record<string, string>>,
  prefix: string,
): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  const mocks: runtime.Mocks = {
    newResource: ({ type, name, inputs }) => {
      if (type.startsWith("kubernetes:")) objects.push(stripMarks(inputs) as KubernetesObject);
      return { id: `${name}-id`, state: inputs as object };
    },
    call: ({ inputs }) => inputs as Record<string, unknown>,
  };
  await runtime.setMocks(mocks, "gatehouse", "rendered", false);
  const parsed = parseConfig({ ...config, target: "kubernetes", renderTo: "rendered" });
  // A warning says what to set with Pulumi, which whoever applies the objects has not; README.md says what they assume.
  await deployStack(parsed, { prefix, root: ".", warn: () => undefined });
  await runtime.disconnect();
  return objects.toSorted((a, b) => (toFileName(a) < toFileName(b) ? -1 : 1));
}

/** Builds the name of an object's file, which no other object has. */
export function toFileName({ kind, metadata }: KubernetesObject): string {
  return `${kind}-${metadata.name}.yaml`;
}

/** Removes Pulumi's marks of secrets, and what only Pulumi reads. */
function stripMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return stripMarks(fields["value"]);
  const cleaned = Object.entries(fields)
    .filter(([key, inner]) => inner !== undefined && !ownAnnotations.test(key))
    .map(([key, inner]) => [key, key === "app.kubernetes.io/managed-by" ? "kustomize" : stripMarks(inner)] as const)
    .filter(([key, inner]) => key !== "annotations" || Object.keys(inner as object).length > 0);
  return Object.fromEntries(cleaned);
}
