import * as docker from "@pulumi/docker";
import { all, RunError, type Input, type Output, type ProviderResource } from "@pulumi/pulumi";
import type { Attachment, NodeSpecs } from "../platform.ts";
import { workspaceVolume, workspaceDirectory } from "../services/node/node-layout.ts";
import { restoreTimeout } from "../services/restore-spec.ts";
import { findFilesDirectory, type ImageName, type ServiceSpec, type SeedSpec } from "../services/service-spec.ts";
import { hostIpVariable, buildSeedCommand, namePlacedFile, stagedBin } from "../services/node/node-conf.ts";
import { buildContainerArgs, labelPrefix } from "./container-args.ts";
import type { ProgramVolumes } from "./node-volumes.ts";
import { buildOneShot, incomingDirectory, type OneShotPlacement } from "./file-delivery.ts";

export type PreparedNodeOptions = Readonly<{
  prefix: string;
  provider: ProviderResource;
  image: (name: ImageName) => Input<string>;
  workspace: Input<string>;
  /** Volumes for the image's programs; absent if the image copies them itself. */
  programs: ProgramVolumes | undefined;
  /** Volume that holds the node's keys, if the stack delivers them. */
  keys: Input<string> | undefined;
  /** Network with internet access, for a restore. */
  edge: Input<string>;
  labels: Readonly<Record<string, string>>;
}>;

/** Resources that must exist before a node starts, and the container labels derived from them: changed labels replace the container. */
type PreparedNode = Readonly<{ steps: readonly docker.Container[]; labels: Readonly<Record<string, Input<string>>> }>;

/**
 * Prepares the start of a real node step by step: the image's programs, the chain data from a configured snapshot, the initial
 * configuration, and the other files that an entry point reads. The devnet prepares itself.
 */
export function prepareNode(
  { node, restore }: NodeSpecs,
  options: PreparedNodeOptions,
  { parent, dependsOn }: Attachment,
): PreparedNode {
  const { programs } = options;
  if (node.seed?.locations === undefined) return { steps: [], labels: {} };
  const { entryPoint } = node.seed.locations;
  const own = { parent, provider: options.provider, deleteBeforeReplace: true };
  const named = (step: string) => `${options.prefix}-node-${step}`;
  const primed =
    programs === undefined
      ? []
      : [createPrimeContainer(node, programs, options, { ...own, dependsOn: [...dependsOn] })];
  const before = programs === undefined ? [...dependsOn] : primed;
  const restored =
    restore === undefined ? undefined : createRestoreContainer(restore, options, { ...own, dependsOn: before });
  const restoreStep = {
    containerName: named("restore"),
    failure: "the chain data was not restored",
    next: "run `pulumi up --refresh`, which resumes it",
  };
  const labels =
    restored === undefined
      ? options.labels
      : { ...options.labels, [`${labelPrefix}.restored`]: requireDone(restored, restoreStep).apply(() => "done") };
  const args = buildSeedArgs(node, node.seed, {
    workspace: options.workspace,
    programs,
    keys: entryPoint === undefined ? undefined : buildKeysMount(node, options.keys),
    containerName: named("conf"),
    image: options.image("gatehouse"),
    labels,
  });
  const seeded = new docker.Container(named("conf"), args, { ...own, dependsOn: before });
  const seedStep = {
    containerName: named("conf"),
    failure: "the node was not started",
    next: "run `pulumi up --refresh`",
  };
  const done = entryPoint === undefined ? {} : { [`${labelPrefix}.prepared`]: requireDone(seeded, seedStep) };
  return { steps: [seeded], labels: done };
}

/** Builds the mount of a node's keys for containers that check their presence; returns `undefined` if the node has none. */
function buildKeysMount(
  node: ServiceSpec,
  volumeName: Input<string> | undefined,
): docker.types.input.ContainerVolume | undefined {
  const containerPath = findFilesDirectory(node);
  if (volumeName !== undefined) return { volumeName, containerPath, readOnly: true };
  const { existingFiles } = node;
  return existingFiles?.kind === "host"
    ? { hostPath: existingFiles.directory, containerPath, readOnly: true }
    : undefined;
}

/**
 * Creates a container from the node's own image that is never started. An engine fills an empty volume with the image's content on first
 * mount, which makes the image's programs available to another container for copying.
 */
function createPrimeContainer(
  node: ServiceSpec,
  { original }: ProgramVolumes,
  { prefix, image, labels }: PreparedNodeOptions,
  options: ConstructorParameters<typeof docker.Container>[2],
): docker.Container {
  const containerName = `${prefix}-node-prime`;
  const volumes = [{ volumeName: original.name, containerPath: node.programs ?? "", readOnly: false }];
  const args = buildOneShot(node, { containerName, image: image("node"), volumes, labels });
  return new docker.Container(containerName, { ...args, start: false, attach: false, readOnly: true }, options);
}

function createRestoreContainer(
  restore: ServiceSpec,
  { prefix, image, workspace, edge, labels }: PreparedNodeOptions,
  options: ConstructorParameters<typeof docker.Container>[2],
): docker.Container {
  const containerName = `${prefix}-node-restore`;
  const args = buildContainerArgs(restore, {
    containerName,
    image: image("gatehouse"),
    networks: [edge],
    volumes: { [workspaceVolume]: workspace },
    files: undefined,
    published: {},
    hostFiles: [],
    groups: [],
    labels,
  });
  return new docker.Container(
    containerName,
    { ...args, restart: "no", attach: true, mustRun: false },
    { ...options, customTimeouts: { create: restoreTimeout } },
  );
}

type Step = Readonly<{ containerName: string; failure: string; next: string }>;

/**
 * Returns the id of a step's container, and throws if the step failed: the engine's provider treats a failed container as completed, but
 * the node must not start without its data or, for an entry point, without its keys.
 */
function requireDone(container: docker.Container, { containerName, failure, next }: Step): Output<string> {
  return all([container.id, container.exitCode]).apply(([id, code]) => {
    if (code === 0) return id;
    throw new RunError(
      `${failure}: ${containerName} exited with status ${code}; find the cause with \`docker logs ${containerName}\` and fix it, then \`docker rm ${containerName}\` and ${next}.`,
    );
  });
}

const incoming = `${incomingDirectory}/node.conf`;

const originalBin = "/run/gatehouse/image-bin";

type SeedVolumes = Pick<PreparedNodeOptions, "workspace" | "programs"> &
  Readonly<{ keys: docker.types.input.ContainerVolume | undefined }>;

/** Builds the container that installs the node's programs and initial configuration as the node's user, then exits. */
function buildSeedArgs(
  node: ServiceSpec,
  seed: SeedSpec,
  { workspace, programs, keys, ...placement }: SeedVolumes & Omit<OneShotPlacement, "volumes">,
): docker.ContainerArgs {
  const address: Input<string> = seed.host.kind === "fixed" ? seed.host.address : "";
  const volumes = [
    { volumeName: workspace, containerPath: workspaceDirectory, readOnly: false },
    ...(programs === undefined
      ? []
      : [
          { volumeName: programs.original.name, containerPath: originalBin, readOnly: true },
          { volumeName: programs.copy.name, containerPath: stagedBin, readOnly: false },
        ]),
    ...(keys === undefined ? [] : [keys]),
  ];
  const files = seed.locations?.entryPoint?.files ?? [];
  const uploads = [
    { file: incoming, content: seed.content, permissions: "0444" },
    ...files.map(({ content }, index) => ({
      file: `${incomingDirectory}/${namePlacedFile(index)}`,
      content,
      permissions: "0444",
    })),
  ];
  return {
    ...buildOneShot(node, { ...placement, volumes }),
    entrypoints: ["node"],
    command: buildSeedCommand(seed, {
      conf: incoming,
      programs: programs === undefined ? undefined : originalBin,
      placed: incomingDirectory,
    }),
    envs: [`${hostIpVariable}=${address}`],
    uploads,
  };
}
