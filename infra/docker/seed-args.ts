import type * as docker from "@pulumi/docker";
import type { Input } from "@pulumi/pulumi";
import { workspaceDirectory } from "../spec/node-layout.ts";
import { hostIpVariable, seedProgram } from "../spec/seed-program.ts";
import type { SeedSpec, ServiceSpec } from "../spec/service-spec.ts";
import { oneShot, type OneShotPlacement } from "./one-shot.ts";

/** Where the engine lays the configuration before it is put into the workspace. */
const incoming = "/run/gatehouse/incoming/node.conf";

/**
 * The container that is made from the node's own image and never started. An engine fills an empty volume with what the image has
 * where it is first mounted (the node's programs, perhaps); so this one has to come before the configuration makes it less empty.
 */
export function primeArgs(node: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return { ...oneShot(node, placement), start: false, attach: false, readOnly: true };
}

/** The container that puts the node's first configuration into its workspace, as the user that the node runs as, and ends. */
export function seedArgs(node: ServiceSpec, seed: SeedSpec, placement: OneShotPlacement): docker.ContainerArgs {
  const address: Input<string> = seed.host.kind === "fixed" ? seed.host.address : "";
  return {
    ...oneShot(node, placement),
    entrypoints: ["node"],
    command: [seedProgram, incoming, seed.path],
    envs: [`${hostIpVariable}=${address}`],
    uploads: [{ file: incoming, content: seed.content, permissions: "0444" }],
  };
}

/** The volume that both see, where the node has it. */
export function workspaceMount(volumeName: Input<string>): docker.types.input.ContainerVolume {
  return { volumeName, containerPath: workspaceDirectory, readOnly: false };
}
