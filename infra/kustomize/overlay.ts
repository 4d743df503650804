import { buildSecrets, buildIgnoreFile, isSecret } from "./generated-secrets.ts";
import { compareValues } from "./json-patch.ts";
import { toFileName, type KubernetesObject } from "./render-objects.ts";
import { printKustomization, printYaml, type Tree } from "./tree.ts";

/**
 * Builds a kustomization that makes one rendered stack of another: new objects, patches of changed ones, and removals.
 *
 * @param below the folder of the kustomization that it stands on, from its own.
 */
export function buildOverlay(
  base: readonly KubernetesObject[],
  objects: readonly KubernetesObject[],
  below: string,
): Tree {
  const before = new Map(base.filter(isPlain).map((object) => [toFileName(object), object]));
  const after = new Map(objects.filter(isPlain).map((object) => [toFileName(object), object]));
  const added = [...after].filter(([name]) => !before.has(name));
  const removed = [...before].filter(([name]) => !after.has(name));
  const changed = [...after].flatMap(([name, object]) => {
    const operations = compareValues(before.get(name) ?? object, object);
    return operations.length === 0 ? [] : [{ name, object, operations }];
  });
  const { generated, files } = buildSecrets(objects, { base });
  return new Map([
    [
      "kustomization.yaml",
      printKustomization({
        resources: [below, ...added.map(([name]) => name)],
        secretGenerator: generated,
        patches: [
          ...changed.map(({ name, object }) => ({ path: `patches/${name}`, target: identify(object) })),
          ...removed.map(([name]) => ({ path: `removed/${name}` })),
        ],
      }),
    ],
    ...added.map(([name, object]) => [name, printYaml(object)] as const),
    ...changed.map(({ name, operations }) => [`patches/${name}`, printYaml(operations)] as const),
    ...removed.map(([name, object]) => [`removed/${name}`, printYaml(remove(object))] as const),
    ...files,
    ...buildIgnoreFile(generated),
  ]);
}

function isPlain(object: KubernetesObject): boolean {
  return !isSecret(object);
}

function identify({ apiVersion, kind, metadata }: KubernetesObject): Readonly<Record<string, string>> {
  const [version = "", group] = apiVersion.split("/").toReversed();
  return { ...(group === undefined ? {} : { group }), version, kind, name: metadata.name };
}

/** Builds the patch with which kustomize removes an object (Kubernetes, "strategic merge patch"). */
function remove({ apiVersion, kind, metadata: { name, namespace } }: KubernetesObject): object {
  return { $patch: "delete", apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}
