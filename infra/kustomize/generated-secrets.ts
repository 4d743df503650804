import type { KubernetesObject } from "./render-objects.ts";
import type { GeneratedSecret, Tree } from "./tree.ts";

/** A Secret of a rendered stack. */
type Secret = KubernetesObject & Readonly<{ stringData: Readonly<Record<string, string>> }>;

/** Secrets as kustomize makes them, and the files in the tree; of the other files, only the paths are known. */
export type SecretFiles = Readonly<{ generated: readonly GeneratedSecret[]; files: Tree }>;

/** End of the names of Secrets that services read while they run: policies and routes, which are no secret. They keep their names, so that nothing rolls. */
const live = /-live$/;

/**
 * Builds Secrets as kustomize makes them of files. Those that hold secrets name files below `secrets/`, which whoever deploys puts there.
 *
 * @param base the Secrets that are there already, of which only what is new or another is printed.
 * @param areKnown whether everybody knows the secrets, so that they are written down, too.
 * @param behaviour of them all, where they stand on others that are not known here; default: of those that `base` has.
 * @throws {Error} when `base` has a file that is not in `objects`: kustomize only adds.
 */
export function buildSecrets(
  objects: readonly KubernetesObject[],
  {
    base = [],
    areKnown = false,
    behavior,
  }: Readonly<{ base?: readonly KubernetesObject[]; areKnown?: boolean; behavior?: "merge" }>,
): SecretFiles {
  const files = new Map<string, string>();
  const generated = objects.filter(isSecret).flatMap(({ metadata, stringData }): GeneratedSecret[] => {
    const { name, namespace = "", labels = {} } = metadata;
    const before = base.filter(isSecret).find((secret) => secret.metadata.name === name)?.stringData;
    for (const key of Object.keys(before ?? {})) {
      if (!(key in stringData)) throw new Error(`the Secret ${name} has no ${key}, which kustomize can't take away`);
    }
    const changed = Object.entries(stringData).filter(([key, text]) => before?.[key] !== text);
    if (changed.length === 0) return [];
    const folder = live.test(name) ? "files" : "secrets";
    for (const [key, text] of changed) {
      if (live.test(name) || areKnown) files.set(`${folder}/${name}/${key}`, text);
    }
    return [
      {
        name,
        namespace,
        ...(before === undefined && behavior === undefined ? {} : { behavior: "merge" }),
        files: changed.map(([key]) => `${folder}/${name}/${key}`),
        options: { labels, ...(live.test(name) ? { disableNameSuffixHash: true } : {}) },
      },
    ];
  });
  return { generated, files };
}

/** Builds the file that keeps `secrets/` out of a repository, if anything is to be put there. */
export function buildIgnoreFile(generated: readonly GeneratedSecret[]): Tree {
  const isPutThere = generated.some(({ files }) => files.some((path) => path.startsWith("secrets/")));
  return new Map(isPutThere ? [["secrets/.gitignore", "*\n!.gitignore\n"]] : []);
}

/** Whether an object is a Secret, which the tree holds as files. */
export function isSecret(object: KubernetesObject): object is Secret {
  return object.kind === "Secret";
}
