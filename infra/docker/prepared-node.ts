import * as docker from "@pulumi/docker";
import { RunError, type Input, type Output, type Resource } from "@pulumi/pulumi";
import type { Attachment, NodeSpecs } from "../platform.ts";
import { workspaceVolume } from "../services/node-layout.ts";
import { restoreTimeout } from "../services/restore-spec.ts";
import type { ImageName, ServiceSpec } from "../services/service-spec.ts";
import { containerArgs, labelPrefix } from "./container-args.ts";
import type { ProgramVolumes } from "./node-volumes.ts";
import { primeArgs, seedArgs } from "./seed-args.ts";

/** What the containers that prepare a node are made with. */
export type PreparedNodeOptions = Readonly<{
  prefix: string;
  provider: docker.Provider;
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
 * Prepares what a real node starts from, step by step: the image's own programs, the chain data of a snapshot where one is named, the
 * first configuration. The devnet does all of that itself.
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
    primeArgs(node, {
      containerName: named("prime"),
      image: options.image("node"),
      volumes: [{ volumeName: programs.original.name, containerPath: node.programs, readOnly: false }],
      labels: options.labels,
    }),
    { ...own, dependsOn: [...dependsOn] },
  );
  const restored =
    restore === undefined ? undefined : restoreContainer(restore, options, { ...own, dependsOn: [primed] });
  const labels =
    restored === undefined
      ? options.labels
      : { ...options.labels, [`${labelPrefix}.restored`]: endOf(restored, named("restore")) };
  const seeded = new docker.Container(
    named("conf"),
    seedArgs(node, node.seed, {
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

/** The container that fills an empty workspace with chain data, and ends. */
function restoreContainer(
  restore: ServiceSpec,
  { prefix, image, workspace, edge, labels }: PreparedNodeOptions,
  options: ConstructorParameters<typeof docker.Container>[2],
): docker.Container {
  const containerName = `${prefix}-node-restore`;
  const args = containerArgs(restore, {
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

/** The engine's provider takes a container that failed for one that ended; the node must not start without its data. */
function endOf(restored: docker.Container, containerName: string): Output<string> {
  return restored.exitCode.apply((code) => {
    if (code === 0) return "done";
    throw new RunError(
      `the chain data were not restored: ${containerName} ended with status ${code}, and \`docker logs ${containerName}\` says why. Put that right, \`docker rm ${containerName}\`, and run \`pulumi up --refresh\`: it goes on where it ended.`,
    );
  });
}
