import { runtime } from "@pulumi/pulumi";
import { createRecordingMocks, type Recorded } from "./recording-mocks.ts";

/** A Kubernetes object of a stack, without Pulumi's secret markers. */
export type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; annotations?: Readonly<Record<string, string>> }>;
  spec: Readonly<Record<string, unknown>>;
  data?: Readonly<Record<string, string>>;
}>;

type Deployment = Readonly<{ preview: boolean; prefix?: string; watch?: () => void }>;

const deployed = new Map<string, Promise<readonly Recorded[]>>();

/**
 * Runs the Pulumi program's own parts against mocks, as `infra/index.ts` does, and returns the registered resources. Calls `watch` after
 * the mocks are set and before anything is registered. Without `watch`, runs each stack once and shares its resources.
 */
export function recordStack(
  config: Readonly<Record<string, string>>,
  { preview, prefix = "gh", watch }: Deployment,
): Promise<readonly Recorded[]> {
  if (watch !== undefined) return run(config, { preview, prefix, watch });
  const key = JSON.stringify([config, preview, prefix]);
  const shared = deployed.get(key) ?? run(config, { preview, prefix });
  deployed.set(key, shared);
  return shared;
}

async function run(
  config: Readonly<Record<string, string>>,
  { preview, prefix, watch }: Deployment & Readonly<{ prefix: string }>,
): Promise<readonly Recorded[]> {
  const recorded: Recorded[] = [];
  await runtime.setMocks(createRecordingMocks(recorded), "gatehouse", "test", preview);
  watch?.();
  const { parseConfig } = await import("../stack-config.ts");
  const { deployStack } = await import("../deploy-stack.ts");
  await withoutStackTraces(async () => {
    await deployStack(parseConfig(config), { prefix, root: "/repository" });
    await runtime.disconnect();
  });
  return recorded;
}

/** Disables stack traces during the work: Pulumi captures one for every promise, which takes two thirds of the time for a stack with hundreds of resources. */
async function withoutStackTraces(work: () => Promise<void>): Promise<void> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Lists the Kubernetes objects among a stack's resources, by kind and name. */
export function listManifests(recorded: readonly Recorded[]): readonly Manifest[] {
  return recorded
    .filter(({ type }) => type.startsWith("kubernetes:"))
    .map(({ inputs }) => withoutMarks(inputs) as Manifest)
    .toSorted((a, b) => `${a.kind}/${a.metadata.name}`.localeCompare(`${b.kind}/${b.metadata.name}`));
}

/** Returns the object with a given kind and name. @throws {Error} if there is no such object. */
export function findManifest(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return maskValues(fields["value"]);
  return Object.fromEntries(Object.entries(fields).map(([key, inner]) => [key, withoutMarks(inner)]));
}

function maskValues(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskValues(inner)]));
}

/** Returns the arguments of a service's container on Docker; none if it has no container. */
export function findContainer(recorded: readonly Recorded[], service: string): Recorded["inputs"] {
  return listContainers(recorded).find(({ name }) => name === `gh-${service}`)?.inputs ?? {};
}

/** Lists the containers of a stack on Docker. */
export function listContainers(recorded: readonly Recorded[]): readonly Recorded[] {
  return recorded.filter(({ type }) => type === "docker:index/container:Container");
}
