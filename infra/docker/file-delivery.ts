import type * as docker from "@pulumi/docker";
import { secret } from "@pulumi/pulumi";
import { filesDirectory, type FileSpec, type ServiceSpec } from "../services/service-spec.ts";
import { oneShot, type OneShotPlacement } from "./one-shot.ts";

/** Where the engine lays a service's files before their owner takes them over. */
const incomingDirectory = "/run/gatehouse/incoming";

/** The program in the image that takes the files over. */
const installProgram = "/app/infra/images/install-files.ts";

/** The volume that a service reads its files from, as its courier sees it. */
export function filesMount(
  volumeName: docker.types.input.ContainerVolume["volumeName"],
): docker.types.input.ContainerVolume {
  return { volumeName, containerPath: filesDirectory, readOnly: false };
}

/**
 * The container that brings a service its files. The engine can upload files only as root and only into a writable container,
 * and a service is neither: so this one, with no network, runs once as the service's user, moves the files into the volume that
 * the service mounts read-only, mode 0400, and ends.
 */
export function fileDeliveryArgs(
  spec: ServiceSpec,
  files: readonly FileSpec[],
  placement: OneShotPlacement,
): docker.ContainerArgs {
  return {
    ...oneShot(spec, placement),
    entrypoints: ["node"],
    command: [installProgram, "move", incomingDirectory, filesDirectory],
    uploads: files.map((file) => ({
      file: `${incomingDirectory}/${file.name}`,
      content: file.secret ? secret(file.content) : file.content,
      permissions: "0444",
    })),
  };
}
