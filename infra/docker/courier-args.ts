import type * as docker from "@pulumi/docker";
import type { Input } from "@pulumi/pulumi";
import { engineCpus } from "./engine-values.ts";
import { filesDirectory, type ServiceSpec } from "../spec/service-spec.ts";

/** Where the engine lays a service's files before their owner takes them over. */
const incomingDirectory = "/run/gatehouse/incoming";

/** The program in the image that takes the files over. */
const installProgram = "/app/infra/images/install-files.ts";

/** Where a courier runs. */
export type CourierPlacement = Readonly<{
  containerName: string;
  image: Input<string>;
  /** The volume that the service reads its files from. */
  volume: Input<string>;
  labels: Readonly<Record<string, Input<string>>>;
}>;

/**
 * The container that brings a service its files. The engine can upload files only as root and only into a writable container,
 * and a service is neither: so this one, with no network, runs once as the service's user, moves the files into the volume that
 * the service mounts read-only, mode 0400, and ends.
 */
export function courierArgs(spec: ServiceSpec, placement: CourierPlacement): docker.ContainerArgs {
  return {
    name: placement.containerName,
    image: placement.image,
    entrypoints: ["node"],
    command: [installProgram, "move", incomingDirectory, filesDirectory],
    uploads: spec.files.map(({ name, content }) => ({
      file: `${incomingDirectory}/${name}`,
      content,
      permissions: "0444",
    })),
    volumes: [{ volumeName: placement.volume, containerPath: filesDirectory, readOnly: false }],
    labels: Object.entries(placement.labels).map(([label, value]) => ({ label, value })),
    user: `${spec.user.uid}:${spec.user.gid}`,
    capabilities: { drops: ["ALL"] },
    securityOpts: ["no-new-privileges:true"],
    networkMode: "none",
    memory: 128,
    memorySwap: 128,
    cpus: engineCpus(0.5),
    init: true,
    restart: "no",
    attach: true,
    mustRun: false,
  };
}
