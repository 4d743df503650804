import * as docker from "@pulumi/docker";
import { jsonStringify, secret, type CustomResourceOptions, type Input } from "@pulumi/pulumi";
import { filesDirectory, type FileSpec, type ServiceSpec } from "../services/service-spec.ts";
import { formatEngineCpus } from "./engine.ts";

/** A volume with a service's files, and the container that delivers them. */
export type FileDelivery = Readonly<{ volume: docker.Volume; container: docker.Container }>;

/** Directory of a service's uploaded files, before their owner takes them over. */
const incomingDirectory = "/run/gatehouse/incoming";

/** Program in the image that takes the files over. */
const installProgram = "/app/infra/images/install-files.ts";

/** Builds the mount of a service's files in the container that delivers them. */
function buildFilesMount(
  volumeName: docker.types.input.ContainerVolume["volumeName"],
): docker.types.input.ContainerVolume {
  return { volumeName, containerPath: filesDirectory, readOnly: false };
}

/**
 * Builds the container that brings a service its files. The engine can upload files only as root and only into a writable container, and a
 * service is neither: so this one, with no network, runs once as the service's user, moves the files into the volume that the service mounts
 * read-only, mode 0400, and ends.
 */
function buildFileDeliveryArgs(
  spec: ServiceSpec,
  files: readonly FileSpec[],
  placement: OneShotPlacement,
): docker.ContainerArgs {
  return {
    ...buildOneShot(spec, placement),
    entrypoints: ["node"],
    command: [installProgram, "move", incomingDirectory, filesDirectory],
    uploads: files.some((file) => file.secret) ? files.map(buildUpload) : [buildUpload(bundleFiles(files))],
  };
}

function buildUpload({ name, content, secret: isSecret }: FileSpec) {
  return {
    file: `${incomingDirectory}/${name}`,
    content: isSecret ? secret(content) : content,
    permissions: "0444",
  };
}

/** Bundles files in one: of several, the provider keeps an order of its own, so that a preview would compare one with another. */
function bundleFiles(files: readonly FileSpec[]): FileSpec {
  const known = files.flatMap(({ name, content }) => (typeof content === "string" ? [[name, content]] : []));
  const content =
    known.length === files.length
      ? JSON.stringify(Object.fromEntries(known))
      : jsonStringify(Object.fromEntries(files.map((file) => [file.name, file.content])));
  return { name: "files.json", content, secret: false };
}

/** Makes the volume with a service's files, and the container that delivers them. */
export function deliverFiles(
  spec: ServiceSpec,
  files: readonly FileSpec[],
  {
    name,
    image,
    labels,
    options,
  }: Readonly<{
    name: string;
    image: Input<string>;
    labels: OneShotPlacement["labels"];
    options: CustomResourceOptions;
  }>,
): FileDelivery {
  const labelList = Object.entries(labels).map(([label, value]) => ({ label, value }));
  const volume = new docker.Volume(name, { name, labels: labelList }, options);
  const placement = { containerName: name, image, volumes: [buildFilesMount(volume.name)], labels };
  const args = buildFileDeliveryArgs(spec, files, placement);
  return { volume, container: new docker.Container(name, args, { ...options, deleteBeforeReplace: true }) };
}

/** Name, image and volumes of a container that does one thing and ends. */
export type OneShotPlacement = Readonly<{
  containerName: string;
  image: Input<string>;
  volumes: readonly docker.types.input.ContainerVolume[];
  labels: Readonly<Record<string, Input<string>>>;
}>;

/**
 * Builds the arguments common to containers that prepare something for a service, as its user, and end: no network, and no rights beyond their
 * files. Pulumi waits for their end.
 */
export function buildOneShot(spec: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return {
    name: placement.containerName,
    image: placement.image,
    volumes: [...placement.volumes],
    labels: Object.entries(placement.labels).map(([label, value]) => ({ label, value })),
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
