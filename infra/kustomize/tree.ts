import { stringify } from "yaml";

/** Files of a folder by their paths in it. */
export type Tree = ReadonlyMap<string, string>;

/** A kustomization, with the fields that are used here (kustomize.config.k8s.io/v1beta1). */
export type Kustomization = Readonly<{
  resources: readonly string[];
  secretGenerator?: readonly GeneratedSecret[];
  patches?: readonly Readonly<{ path: string; target?: Readonly<Record<string, string>> }>[];
}>;

/** A Secret that kustomize makes of files. Its name ends with a hash of them, unless that is turned off, and pods name it so. */
export type GeneratedSecret = Readonly<{
  name: string;
  namespace: string;
  behavior?: "merge";
  files: readonly string[];
  options: Readonly<{ labels: Readonly<Record<string, string>>; disableNameSuffixHash?: true }>;
}>;

/** Prints a value as YAML, the same bytes for the same value. */
export function printYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, sortMapEntries: true });
}

/** Prints a kustomization.yaml. */
export function printKustomization({ resources, secretGenerator = [], patches = [] }: Kustomization): string {
  return stringify(
    {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      ...(resources.length === 0 ? {} : { resources }),
      ...(secretGenerator.length === 0 ? {} : { secretGenerator }),
      ...(patches.length === 0 ? {} : { patches }),
    },
    { lineWidth: 0 },
  );
}

/** Puts a tree below a folder. */
export function placeTree(folder: string, tree: Tree): Tree {
  return new Map([...tree].map(([path, text]) => [`${folder}/${path}`, text]));
}
