import { runtime } from "@pulumi/pulumi";

type Inputs = Readonly<Record<string, unknown>>;

/** Inputs that the Docker provider changes in a running container. A change to any other input replaces the container. */
const changedInPlace = new Set([
  "cpuSet",
  "cpuShares",
  "destroyGraceSeconds",
  "maxRetryCount",
  "memory",
  "memorySwap",
  "mustRun",
  "restart",
  "wait",
  "waitTimeout",
]);

/** Inputs, by kind, that make the Kubernetes provider replace an object when they change; name and namespace always do. */
const kubernetesPaths: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ["data", "binaryData"],
  Secret: ["type", "data", "stringData"],
  PersistentVolumeClaim: ["spec"],
  StatefulSet: ["spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"],
  Deployment: ["spec.selector"],
  Job: ["spec.selector", "spec.template", "spec.completions"],
  RoleBinding: ["roleRef"],
};

/** Picks a resource's inputs whose change makes Pulumi replace the resource, with secrets masked; none for components and built images. */
export function pickReplacingInputs(type: string, inputs: Inputs): Inputs {
  const shown = withoutSecrets(inputs) as Inputs;
  if (type === "docker:index/image:Image") return {};
  if (type === "docker:index/container:Container") {
    return Object.fromEntries(Object.entries(shown).filter(([key]) => !changedInPlace.has(key)));
  }
  if (type.startsWith("docker:")) return shown;
  if (!type.startsWith("kubernetes:")) return {};
  const paths = ["metadata.name", "metadata.namespace", ...(kubernetesPaths[String(shown["kind"])] ?? [])];
  return Object.fromEntries(
    paths.map((path) => [path, getAtPath(shown, path.split("."))]).filter(([, value]) => value !== undefined),
  );
}

/**
 * Picks the inputs that Pulumi compares with a state's: for each path in `ignoreChanges`, the state's value or none (Pulumi's
 * documentation, "ignoreChanges"). @throws {Error} if the program has dropped the path's parent, which Pulumi rejects.
 */
export function pickComparedInputs(
  inputs: Inputs,
  { state, ignoreChanges }: Readonly<{ state: Inputs; ignoreChanges: readonly string[] }>,
): Inputs {
  return ignoreChanges.reduce(
    (compared, path) => withValue(compared, path.split("."), getAtPath(state, path.split("."))),
    inputs,
  );
}

function withValue(inputs: Inputs, [key = "", ...rest]: readonly string[], value: unknown): Inputs {
  const { [key]: inner, ...others } = inputs;
  if (rest.length === 0) return value === undefined ? others : { ...others, [key]: value };
  if (inner === undefined && value === undefined) return inputs;
  if (typeof inner !== "object" || inner === null)
    throw new Error(`${key} was removed, but ignoreChanges refers to a part of it`);
  return { ...others, [key]: withValue(inner as Inputs, rest, value) };
}

function getAtPath(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return typeof value === "object" && value !== null ? getAtPath((value as Inputs)[key], rest) : undefined;
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  if ((value as Inputs)[runtime.specialSigKey] === runtime.specialSecretSig) return "[secret]";
  const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, inner]) => [key, withoutSecrets(inner)]));
}
