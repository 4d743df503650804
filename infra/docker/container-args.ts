import type * as docker from "@pulumi/docker";
import { interpolate, type Input } from "@pulumi/pulumi";
import { formatEngineCpus } from "./engine.ts";
import { buildHealthcheck } from "./health-check.ts";
import { listFilesDirectories, toVolumeKey, type PortSpec, type ServiceSpec } from "../services/service-spec.ts";

/** Names, image, volumes and ports for a service's container on a Docker host. */
export type Placement = Readonly<{
  containerName: string;
  /** Image id (`sha256:…`), or a reference that includes a digest. */
  image: Input<string>;
  /** Networks that the container joins under the service's name; empty means no network. */
  networks: readonly Input<string>[];
  /** Names of the engine's volumes, by the volume keys in the specification. */
  volumes: Readonly<Record<string, Input<string>>>;
  /** Volume with the copy of the image's programs, if the service runs from a copy. */
  programs?: Input<string> | undefined;
  /** Volume that contains the service's files, and a revision that changes with them. */
  files: Readonly<{ volume: Input<string>; revision: Input<string> }> | undefined;
  /** Volumes that contain the service's hot-reloaded files and secrets. */
  live?: readonly Readonly<{ volumeName: Input<string>; containerPath: string }>[];
  /** Ports that the host publishes, by the port names in the specification. */
  published: Readonly<Record<string, Readonly<{ address: string; port: number }>>>;
  /** Host files mounted into the container, and the groups that have access to them. */
  hostFiles: readonly Readonly<{ hostPath: string; path: string }>[];
  groups: readonly string[];
  labels: Readonly<Record<string, Input<string>>>;
  /** Whether the engine supports a start interval for health checks; absent if the engine was unreachable. */
  startInterval?: boolean | undefined;
}>;

/** Label prefix with which policies and operators find the stack's containers. */
export const labelPrefix = "io.gatehouse";

export function listLabels(labels: Placement["labels"]): docker.types.input.ContainerLabel[] {
  return Object.entries(labels).map(([label, value]) => ({ label, value }));
}

const scratchOptions = "rw,noexec,nosuid,nodev,size=64m,mode=1777";

/**
 * Translates a service into the arguments for a Docker container. If the engine reports a value in a different form, this function uses the
 * engine's form, so that a second `pulumi up` changes nothing.
 */
export function buildContainerArgs(spec: ServiceSpec, placement: Placement): docker.ContainerArgs {
  return {
    name: placement.containerName,
    image: placement.image,
    ...(spec.arguments === undefined ? {} : { command: [...spec.arguments] }),
    envs: [
      ...Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
      ...Object.entries(spec.secretEnvironment ?? {}).map(([name, value]) => interpolate`${name}=${value}`),
    ],
    labels: buildLabels(spec, placement),
    user: `${spec.user.uid}:${spec.user.gid}`,
    ...(placement.groups.length === 0 ? {} : { groupAdds: [...placement.groups] }),
    readOnly: true,
    tmpfs: Object.fromEntries(["/tmp", ...(spec.scratchDirectories ?? [])].map((path) => [path, scratchOptions])),
    capabilities: { drops: ["ALL"] },
    securityOpts: ["no-new-privileges:true"],
    memory: spec.limits.memoryMebibytes,
    memorySwap: spec.limits.memoryMebibytes,
    cpus: formatEngineCpus(spec.limits.cpus),
    ...(spec.openFiles === undefined
      ? {}
      : { ulimits: [{ name: "nofile", soft: spec.openFiles, hard: spec.openFiles }] }),
    init: true,
    restart: "unless-stopped",
    ...(spec.stopSignal === undefined ? {} : { stopSignal: spec.stopSignal }),
    stopTimeout: spec.stopGraceSeconds,
    destroyGraceSeconds: spec.stopGraceSeconds,
    logDriver: "json-file",
    logOpts: { "max-size": "10m", "max-file": "5" },
    volumes: listMounts(spec, placement),
    ...buildNetwork(spec, placement),
    ports: spec.ports.flatMap((port) => buildPublication(port, placement)),
    ...buildHealthArgs(spec, placement),
  };
}

type Watched = Pick<docker.ContainerArgs, "mustRun" | "healthcheck" | "wait" | "waitTimeout">;

/** Builds the health check. The provider waits until it passes, unless startup may take hours. */
function buildHealthArgs(spec: ServiceSpec, { startInterval }: Placement): Watched {
  const healthcheck = buildHealthcheck(spec, startInterval);
  const check = healthcheck === undefined ? {} : { healthcheck };
  const { health } = spec;
  if (health === undefined || health.kind === "port") return { mustRun: true, ...check };
  return { ...check, wait: true, waitTimeout: health.startWithinSeconds };
}

function buildLabels(spec: ServiceSpec, placement: Placement): docker.ContainerArgs["labels"] {
  const all = {
    ...placement.labels,
    [`${labelPrefix}.service`]: spec.name,
    ...(placement.files === undefined ? {} : { [`${labelPrefix}.files`]: placement.files.revision }),
  };
  return listLabels(all);
}

function listMounts(spec: ServiceSpec, placement: Placement): docker.ContainerArgs["volumes"] {
  const mounted = spec.volumes.map((volume) => {
    const volumeName = placement.volumes[toVolumeKey(volume)];
    if (volumeName === undefined)
      throw new Error(`${spec.name} mounts the volume ${toVolumeKey(volume)}, which does not exist on the host`);
    return { volumeName, containerPath: volume.path, readOnly: volume.readOnly };
  });
  const programs =
    spec.programs === undefined || placement.programs === undefined
      ? []
      : [{ volumeName: placement.programs, containerPath: spec.programs, readOnly: false }];
  const files =
    placement.files === undefined
      ? []
      : listFilesDirectories(spec).map((containerPath) => ({
          volumeName: placement.files?.volume ?? "",
          containerPath,
          readOnly: true,
        }));
  const live = (placement.live ?? []).map(({ volumeName, containerPath }) => ({
    volumeName,
    containerPath,
    readOnly: true,
  }));
  const host = placement.hostFiles.map(({ hostPath, path }) => ({ hostPath, containerPath: path, readOnly: true }));
  return [...mounted, ...programs, ...files, ...live, ...host];
}

function buildNetwork(spec: ServiceSpec, placement: Placement): Partial<docker.ContainerArgs> {
  if (placement.networks.length === 0) return { networkMode: "none" };
  return { networksAdvanced: placement.networks.map((name) => ({ name, aliases: [spec.name] })) };
}

function buildPublication(port: PortSpec, placement: Placement): readonly docker.types.input.ContainerPort[] {
  const at = placement.published[port.name];
  return at === undefined ? [] : [{ internal: port.number, external: at.port, ip: at.address, protocol: "tcp" }];
}
