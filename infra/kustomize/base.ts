import { buildSecrets, buildIgnoreFile, isSecret } from "./generated-secrets.ts";
import { toFileName, type KubernetesObject } from "./render-objects.ts";
import { printKustomization, printYaml, type Tree } from "./tree.ts";

/**
 * Builds a kustomization of rendered objects, a file each.
 *
 * @param areKnown whether everybody knows the stack's secrets, so that they are written down.
 */
export function buildBase(
  objects: readonly KubernetesObject[],
  { areKnown = false }: Readonly<{ areKnown?: boolean }> = {},
): Tree {
  const { generated, files } = buildSecrets(objects, { areKnown });
  const plain = objects.filter((object) => !isSecret(object));
  const kustomization = { resources: plain.map(toFileName), secretGenerator: generated };
  return new Map([
    ["kustomization.yaml", printKustomization(kustomization)],
    ...plain.map((object) => [toFileName(object), printYaml(object)] as const),
    ...files,
    ...(areKnown ? [] : buildIgnoreFile(generated)),
  ]);
}
