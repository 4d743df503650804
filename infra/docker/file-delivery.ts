import * as docker from "@pulumi/docker";
import { jsonStringify, secret, type CustomResourceOptions, type Input } from "@pulumi/pulumi";
import { filesDirectory, type FileSpec, type ServiceSpec } from "../services/service-spec.ts";
import { listLabels } from "./container-args.ts";
import { formatEngineCpus } from "./engine.ts";

export type FileDelivery = Readonly<{ volume: docker.Volume; container: docker.Container }>;

/** Directory for uploaded files, before the container's program moves them. */
export const incomingDirectory = "/run/gatehouse/incoming";

const installProgram = "/app/infra/images/install-files.ts";

function buildUpload({ name, content, secret: isSecret }: FileSpec) {
  return {
    file: `${incomingDirectory}/${name}`,
    content: isSecret ? secret(content) : content,
    permissions: "0444",
  };
}

/** Bundles files into one: the provider reorders multiple files, so a preview would diff unrelated files. */
function bundleFiles(files: readonly FileSpec[]): FileSpec {
  const known = files.flatMap(({ name, content }) => (typeof content === "string" ? [[name, content]] : []));
  const content =
    known.length === files.length
      ? JSON.stringify(Object.fromEntries(known))
      : jsonStringify(Object.fromEntries(files.map((file) => [file.name, file.content])));
  return { name: "files.json", content, secret: false };
}

/**
 * Creates the volume for a service's files, and the container that delivers them. The engine can upload files only as root and only into a
 * writable container; a service neither runs as root nor has a writable container. This container therefore runs once, as the service's
 * user and without network access, moves the files with mode 0400 into the volume that the service mounts read-only, and exits.
 */
export function deliverFiles(
  spec: ServiceSpec,
  files: readonly FileSpec[],
  { options, ...placement }: Omit<OneShotPlacement, "volumes"> & Readonly<{ options: CustomResourceOptions }>,
): FileDelivery {
  const { containerName: name } = placement;
  const volume = new docker.Volume(name, { name, labels: listLabels(placement.labels) }, options);
  const volumes = [{ volumeName: volume.name, containerPath: filesDirectory, readOnly: false }];
  const args = {
    ...buildOneShot(spec, { ...placement, volumes }),
    entrypoints: ["node"],
    command: [installProgram, "move", incomingDirectory, filesDirectory],
    uploads: files.some((file) => file.secret) ? files.map(buildUpload) : [buildUpload(bundleFiles(files))],
  };
  return { volume, container: new docker.Container(name, args, { ...options, deleteBeforeReplace: true }) };
}

export type OneShotPlacement = Readonly<{
  containerName: string;
  image: Input<string>;
  volumes: readonly docker.types.input.ContainerVolume[];
  labels: Readonly<Record<string, Input<string>>>;
}>;

/**
 * Builds the arguments shared by one-shot containers that prepare a service, running as its user: no network, and access only to the
 * service's files. Pulumi waits until these containers exit.
 */
export function buildOneShot(spec: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return {
    name: placement.containerName,
    image: placement.image,
    volumes: [...placement.volumes],
    labels: listLabels(placement.labels),
    user: `${spec.user.uid}:${spec.user.gid}`,
    capabilities: { drops: ["ALL"] },
    securityOpts: ["no-new-privileges:true"],
    networkMode: "none",
    memory: 128,
    memorySwap: 128,
    cpus: formatEngineCpus(0.5),
    init: true,
    restart: "no",
    attach: true,
    mustRun: false,
  };
}
