import { buildSecrets, isSecret } from "./generated-secrets.ts";
import { compareValues } from "./json-patch.ts";
import { toFileName, type KubernetesObject } from "./render-objects.ts";
import { printKustomization, printYaml, type Tree } from "./tree.ts";

type Variable = Readonly<{ name: string; value?: unknown }>;
type Container = Readonly<{ name: string; image: string; env?: readonly Variable[] }>;
type PodSpec = Readonly<Partial<Record<(typeof lists)[number], readonly Container[]>>>;

const lists = ["containers", "initContainers"] as const;

const heading = `# What is yours: put in what is true of your deployment, here and in values/ and files/, and apply this folder.
# Below may stand ../ingress, ../gateway-api or ../replicated instead of the base.
`;

/**
 * Builds a kustomization to fill in, with the values of a rendered stack that are somebody's own: those that differ in another stack.
 *
 * @throws {Error} for a value that stands where this can't set it.
 */
export function buildOwnOverlay(
  base: readonly KubernetesObject[],
  another: readonly KubernetesObject[],
  below: string,
): Tree {
  const others = new Map(another.map((object) => [toFileName(object), object]));
  const patches = base
    .filter((object) => !isSecret(object))
    .flatMap((object) => pickOwn(object, others.get(toFileName(object)) ?? object) ?? []);
  const own = base.filter(isSecret).filter(({ metadata: { name } }) => name.endsWith("-live"));
  const { generated, files } = buildSecrets(own, { behavior: "merge" });
  const changed = generated.filter(({ name, files: paths }) => {
    const there = another.filter(isSecret).find(({ metadata }) => metadata.name === name)?.stringData ?? {};
    return paths.some((path) => files.get(path) !== there[path.slice(path.lastIndexOf("/") + 1)]);
  });
  const kept = new Set(changed.flatMap((secret) => secret.files));
  return new Map([
    [
      "kustomization.yaml",
      heading +
        printKustomization({
          resources: [below],
          secretGenerator: changed,
          patches: patches.map((patch) => ({ path: `values/${toFileName(patch)}` })),
        }) +
        printImages(base),
    ],
    ...patches.map((patch) => [`values/${toFileName(patch)}`, printYaml(patch)] as const),
    ...[...files].filter(([path]) => kept.has(path)),
  ]);
}

/** Picks somebody's own values of an object, as a patch; `undefined` if it has none. */
function pickOwn(object: KubernetesObject, other: KubernetesObject): KubernetesObject | undefined {
  const { apiVersion, kind, metadata } = object;
  const named = { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace ?? "" } };
  if (kind === "ConfigMap" && compareValues(object, other).length > 0) return { ...named, data: object["data"] };
  const [pod, otherPod] = [findPod(object), findPod(other)];
  const changed = lists.flatMap((list) => {
    const containers = (pod[list] ?? []).map((container) => pickVariables(container, otherPod[list]));
    // All of them are named, in their order: kustomize puts what a patch names first, and init containers start in their order.
    return containers.some((container) => container.env !== undefined) ? [[list, containers] as const] : [];
  });
  const rest = compareValues(withoutOwn(object), withoutOwn(other)).map(({ path }) => path);
  if (rest.length > 0) throw new Error(`${toFileName(object)} has somebody's own values at ${rest.join(", ")}`);
  if (changed.length === 0) return undefined;
  return { ...named, spec: { template: { spec: Object.fromEntries(changed) } } };
}

function pickVariables(
  { name, env = [] }: Container,
  others: readonly Container[] = [],
): Readonly<{ name: string; env?: readonly Variable[] }> {
  const known = others.find((other) => other.name === name)?.env ?? [];
  const own = env.filter((variable) => {
    const other = known.find((candidate) => candidate.name === variable.name);
    return compareValues(other ?? null, variable).length > 0;
  });
  return own.length === 0 ? { name } : { name, env: own };
}

function findPod(object: KubernetesObject): PodSpec {
  const { template } = (object["spec"] ?? {}) as Readonly<{ template?: Readonly<{ spec?: PodSpec }> }>;
  return template?.spec ?? {};
}

/** Removes variables and images, which have their own places in a kustomization. */
function withoutOwn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOwn);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== "env" && key !== "image");
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutOwn(inner)]));
}

/** Prints the images that are named by a tag, as kustomize replaces them. */
function printImages(objects: readonly KubernetesObject[]): string {
  const pods = objects.map(findPod);
  const images = pods.flatMap((pod) => lists.flatMap((list) => (pod[list] ?? []).map(({ image }) => image)));
  const tagged = [...new Set(images)].toSorted().filter((image) => !image.includes("@"));
  const entries = tagged.map((image) => {
    const at = image.lastIndexOf(":");
    return { name: image.slice(0, at), newName: image.slice(0, at), newTag: image.slice(at + 1) };
  });
  return printYaml({ images: entries });
}
