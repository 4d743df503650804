import type * as docker from "@pulumi/docker";
import type { Input } from "@pulumi/pulumi";
import { workspaceDirectory } from "../services/node-layout.ts";
import { hostIpVariable, seedCommand, stagedBin } from "../services/seed-program.ts";
import type { SeedSpec, ServiceSpec } from "../services/service-spec.ts";
import { oneShot, type OneShotPlacement } from "./one-shot.ts";

/** Where the engine lays the configuration before it is put into the workspace. */
const incoming = "/run/gatehouse/incoming/node.conf";

/** Where it sees the image's programs. */
const originalBin = "/run/gatehouse/image-bin";

/**
 * The container that is made from the node's own image and never started. An engine fills an empty volume with what the image has
 * where it is first mounted: that is how the image's programs reach a volume that another container can copy them from.
 */
export function primeArgs(node: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return { ...oneShot(node, placement), start: false, attach: false, readOnly: true };
}

/** Volumes that the seeding container sees: the node's own, the image's programs, and their copy that the node runs from. */
type SeedVolumes = Readonly<Record<"workspace" | "original" | "copy", Input<string>>>;

/** The container that puts the node's programs and its first configuration in their places, as the user that the node runs as, and ends. */
export function seedArgs(
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
    ...oneShot(node, { ...placement, volumes }),
    entrypoints: ["node"],
    command: seedCommand(seed, incoming, originalBin),
    envs: [`${hostIpVariable}=${address}`],
    uploads: [{ file: incoming, content: seed.content, permissions: "0444" }],
  };
}
