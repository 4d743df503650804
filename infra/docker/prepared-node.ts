import * as docker from "@pulumi/docker";
import { RunError, type Input, type Output, type ProviderResource, type Resource } from "@pulumi/pulumi";
import type { Attachment, NodeSpecs } from "../platform.ts";
import { workspaceVolume, workspaceDirectory } from "../services/node/node-layout.ts";
import { restoreTimeout } from "../services/restore-spec.ts";
import type { ImageName, ServiceSpec, SeedSpec } from "../services/service-spec.ts";
import { hostIpVariable, buildSeedCommand, stagedBin } from "../services/node/node-conf.ts";
import { buildContainerArgs, labelPrefix } from "./container-args.ts";
import type { ProgramVolumes } from "./node-volumes.ts";
import { buildOneShot, type OneShotPlacement } from "./file-delivery.ts";

export type PreparedNodeOptions = Readonly<{
  prefix: string;
  provider: ProviderResource;
  image: (name: ImageName) => Input<string>;
  /** Name of the engine's volume with the node's workspace. */
  workspace: Input<string>;
  /** Volumes of the image's programs; the devnet brings its own. */
  programs: ProgramVolumes | undefined;
  /** The network that reaches the outside, for a restore. */
  edge: Input<string>;
  labels: Readonly<Record<string, string>>;
}>;

/**
 * Prepares the start of a real node step by step: the image's own programs, the chain data of a snapshot if one is named, the first
 * configuration. The devnet does all of that itself.
 */
export function prepareNode(
  { node, restore }: NodeSpecs,
  options: PreparedNodeOptions,
  { parent, dependsOn }: Attachment,
): readonly Resource[] {
  const { programs } = options;
  if (node.seed === undefined || node.programs === undefined || programs === undefined) return [];
  const own = { parent, provider: options.provider, deleteBeforeReplace: true };
  const named = (step: string) => `${options.prefix}-node-${step}`;
  const primed = new docker.Container(
    named("prime"),
    buildPrimeArgs(node, {
      containerName: named("prime"),
      image: options.image("node"),
      volumes: [{ volumeName: programs.original.name, containerPath: node.programs, readOnly: false }],
      labels: options.labels,
    }),
    { ...own, dependsOn: [...dependsOn] },
  );
  const restored =
    restore === undefined ? undefined : createRestoreContainer(restore, options, { ...own, dependsOn: [primed] });
  const labels =
    restored === undefined
      ? options.labels
      : { ...options.labels, [`${labelPrefix}.restored`]: requireRestored(restored, named("restore")) };
  const seeded = new docker.Container(
    named("conf"),
    buildSeedArgs(node, node.seed, {
      workspace: options.workspace,
      original: programs.original.name,
      copy: programs.copy.name,
      containerName: named("conf"),
      image: options.image("gatehouse"),
      labels,
    }),
    { ...own, dependsOn: [primed] },
  );
  return [seeded];
}

/** Creates the container that fills an empty workspace with chain data, and ends. */
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

/**
 * Throws if the restore failed: the engine's provider takes a container that failed for one that ended, and the node must not start without
 * its data.
 */
function requireRestored(restored: docker.Container, containerName: string): Output<string> {
  return restored.exitCode.apply((code) => {
    if (code === 0) return "done";
    throw new RunError(
      `the chain data were not restored: ${containerName} ended with status ${code}, and \`docker logs ${containerName}\` says why. Put that right, \`docker rm ${containerName}\`, and run \`pulumi up --refresh\`: it goes on where it ended.`,
    );
  });
}

/** Path of the uploaded configuration, before it is put into the workspace. */
const incoming = "/run/gatehouse/incoming/node.conf";

/** Path of the image's programs in that container. */
const originalBin = "/run/gatehouse/image-bin";

/**
 * Builds the container that is made from the node's own image and never started. An engine fills an empty volume with the image's content
 * where it is first mounted: that is how the image's programs reach a volume that another container can copy them from.
 */
function buildPrimeArgs(node: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return { ...buildOneShot(node, placement), start: false, attach: false, readOnly: true };
}

/** Volumes that the seeding container mounts: the node's own, the image's programs, and their copy that the node runs from. */
type SeedVolumes = Readonly<Record<"workspace" | "original" | "copy", Input<string>>>;

/** Builds the container that puts the node's programs and its first configuration in their places, as the user that the node runs as, and ends. */
function buildSeedArgs(
  node: ServiceSpec,
  seed: SeedSpec,
  { workspace, original, copy, ...placement }: SeedVolumes & Omit<OneShotPlacement, "volumes">,
): docker.ContainerArgs {
  const address: Input<string> = seed.host.kind === "fixed" ? seed.host.address : "";
  const volumes = [
    { volumeName: workspace, containerPath: workspaceDirectory, readOnly: false },
    { volumeName: original, containerPath: originalBin, readOnly: true },
    { volumeName: copy, containerPath: stagedBin, readOnly: false },
  ];
  return {
    ...buildOneShot(node, { ...placement, volumes }),
    entrypoints: ["node"],
    command: buildSeedCommand(seed, incoming, originalBin),
    envs: [`${hostIpVariable}=${address}`],
    uploads: [{ file: incoming, content: seed.content, permissions: "0444" }],
  };
}
