import type { Input } from "@pulumi/pulumi";
import type { stackServices, StackServiceName } from "../stack-services.ts";
import type { HealthSpec } from "./probes.ts";

/** Name of a service in the stack, from which the names of containers, Kubernetes objects and hosts are derived. */
export type ServiceName = StackServiceName;

export type ImageName = (typeof stackServices)[ServiceName]["image"];

/**
 * Clients that may reach a port. `public`: any client outside the stack; `peers`: other nodes of the chain, outside the stack; `system`:
 * other services in the stack; `pod`: only containers in the same pod.
 */
type Audience = "public" | "peers" | "system" | "pod";

export type PortSpec = Readonly<{ name: string; number: number; audience: Audience }>;

/** A file available to a service at startup, with mode 0400 and owned by the service's user. */
export type FileSpec = Readonly<{ name: string; content: Input<string>; secret: boolean }>;

export type VolumeSpec = Readonly<{
  /** Volumes with the same name are one volume, regardless of which services mount it. */
  name: string;
  /** Directory of the volume to mount; if absent, the whole volume. The directory must exist before it is mounted. */
  directory?: string;
  path: string;
  readOnly: boolean;
  /** Whether `pulumi destroy` retains the volume, which is protected against deletion: chain data and ledgers. */
  retain: boolean;
  /** Size of the Kubernetes claim. A Docker volume can use the whole disk. */
  sizeGibibytes: number;
}>;

/** Address that a node announces to its peers. It is either fixed, or known only where the node runs: the address of its pod, or of the pod's machine. */
export type HostAddress = Readonly<{ kind: "fixed"; address: string }> | Readonly<{ kind: "pod" | "machine" }>;

/** The node's initial `node.conf`: written if missing, and never overwritten, because the sidecar manages it from then on. */
export type SeedSpec = Readonly<{
  path: string;
  content: string;
  host: HostAddress;
  /** Directories of a real node, whose programs come from its image; absent for the devnet, which creates its workspace itself. */
  locations?: NodeLocations;
}>;

/** Directories in a node's container, keyed by content. */
export type NodeLocations = Readonly<{
  bin: string;
  data: string;
  keys: string;
  /** Workspace parts of a node whose image copies its programs to the workspace at each start; absent if the stack copies them. */
  entryPoint?: EntryPointLocations;
}>;

/** Parts of a node's workspace that the image's entry point reads before it starts the node. */
export type EntryPointLocations = Readonly<{
  /** Files that the stack installs in the workspace before each start. */
  files: readonly MountedFile[];
  keyNames: readonly string[];
  /** If this directory exists, the entry point does not run genesis. */
  genesisMark: string | undefined;
  /** The node's command-line tool, and its configuration file argument. */
  cli: Readonly<{ tool: string; configArgument: string }>;
}>;

/** A file in the node's workspace, at an absolute path in its container. */
export type MountedFile = Readonly<{ path: string; content: Input<string> }>;

/** Existing files in a Secret in the service's namespace, or in a directory on its Docker host. */
export type ExistingFiles = Readonly<{ names: readonly string[] }> &
  (Readonly<{ kind: "secret"; name: string }> | Readonly<{ kind: "host"; directory: string }>);

/** A connection that a service opens, allowed by the network policies. */
export type Edge =
  | Readonly<{ to: ServiceName; port: string }>
  | Readonly<{ to: "internet" }>
  | Readonly<{ to: "api" }>
  | Readonly<{ to: "namespace"; namespace: string }>
  | HostEdge;

/** A connection to a port outside the stack: on one address range, or on any host. */
export type HostEdge = Readonly<{ to: "host"; port: number; cidr: string | undefined }>;

/** Port from which Prometheus scrapes a service's metrics. */
export type MetricsSpec = Readonly<{
  port: string;
  /** Whether samples keep their own labels. Samples from a Pushgateway carry the job name under which they were pushed. */
  honorLabels?: true;
}>;

export type ResourceLimits = Readonly<{ cpus: number; memoryMebibytes: number }>;

/** Everything that a target needs to run a service. A pure builder creates it; each target translates it. */
export type ServiceSpec = Readonly<{
  name: ServiceName;
  image: ImageName;
  /** Arguments for the image's entry point; if undefined, the image's own. */
  arguments: readonly string[] | undefined;
  environment: Readonly<Record<string, string>>;
  /** Environment variables that contain secrets, for an image that can't read them from anywhere else. */
  secretEnvironment?: Readonly<Record<string, Input<string>>>;
  files: readonly FileSpec[];
  /** Hot-reloaded files: a change to these files alone stops nothing. */
  liveFiles?: readonly FileSpec[];
  /** Secrets whose change triggers a hot restart, without downtime. They are separate from the live files, which contain no secrets. */
  liveSecrets?: readonly FileSpec[];
  /** Existing files, besides or instead of `files`. */
  existingFiles?: ExistingFiles | undefined;
  /** Directory of the service's files in its container; default: {@link filesDirectory}. */
  filesDirectory?: string;
  /** Additional directories that contain all of the service's own files. */
  furtherFilesDirectories?: readonly string[];
  ports: readonly PortSpec[];
  volumes: readonly VolumeSpec[];
  /** Image directory that the service runs from and writes to. The container gets a copy, which is recreated for every image. */
  programs?: string;
  /** Additional writable directories besides `/tmp`, whose content is not retained. */
  scratchDirectories?: readonly string[];
  edges: readonly Edge[];
  /** Services that, if part of the stack, must be up before this one starts. */
  startsAfter?: readonly ServiceName[];
  /** Port that serves `/metrics`; absent if the service has no metrics, or if they are unreachable. */
  metrics?: MetricsSpec;
  seed?: SeedSpec;
  /** Health check; undefined if there is nothing to probe. */
  health: HealthSpec | undefined;
  limits: ResourceLimits;
  /** Max open files for the service's process; if absent, the engine's limit applies. */
  openFiles?: number | undefined;
  user: Readonly<{ uid: number; gid: number }>;
  /** Signal that stops it; default: SIGTERM. */
  stopSignal?: "SIGINT";
  stopGraceSeconds: number;
  replicas: Replicas;
}>;

/** Number of processes for a service: at least `min`, and up to `max` under load. */
export type Replicas = Readonly<{ min: number; max: number }>;

export const oneReplica: Replicas = { min: 1, max: 1 };

/** User in Gatehouse's images, which owns their files and volumes. */
export const serviceUser = { uid: 10_001, gid: 10_001 } as const;

export const filesDirectory = "/run/gatehouse/files";

/** Directory for a service's hot-reloaded files. It is separate from the other files, which exist as long as the container. */
export const liveFilesDirectory = "/run/gatehouse/live";

/** Directory for secrets that trigger a hot restart when they change. */
export const liveSecretsDirectory = "/run/gatehouse/secrets";

type LiveDelivery = Readonly<{ kind: "live" | "secrets"; directory: string; files: readonly FileSpec[] }>;

/** Lists a service's deliveries whose change does not replace its container; `kind` is the suffix of their volumes and Secrets. */
export function listLiveDeliveries({ liveFiles = [], liveSecrets = [] }: ServiceSpec): readonly LiveDelivery[] {
  const all: readonly LiveDelivery[] = [
    { kind: "live", directory: liveFilesDirectory, files: liveFiles },
    { kind: "secrets", directory: liveSecretsDirectory, files: liveSecrets },
  ];
  return all.filter(({ files }) => files.length > 0);
}

export function findFilesDirectory(spec: ServiceSpec): string {
  return spec.filesDirectory ?? filesDirectory;
}

export function listFilesDirectories(spec: ServiceSpec): readonly string[] {
  return [findFilesDirectory(spec), ...(spec.furtherFilesDirectories ?? [])];
}

export function hasFiles({ files, existingFiles }: ServiceSpec): boolean {
  return files.length > 0 || existingFiles !== undefined;
}

export function toVolumeKey({ name, directory }: VolumeSpec): string {
  return directory === undefined ? name : `${name}-${directory}`;
}

export const stateDirectory = "/var/lib/gatehouse";

/** Returns the port with a given name. @throws {Error} if the service has no such port, which is a bug in a builder. */
export function findPort(spec: ServiceSpec, name: string): PortSpec {
  const found = spec.ports.find((port) => port.name === name);
  if (found === undefined) throw new Error(`${spec.name} has no port named ${name}`);
  return found;
}

/** Chooses the user for a node's image, in the group that owns the shared workspace. For the devnet, it is the user shared by all Gatehouse services. */
export function chooseNodeUser(imageUser: number | undefined): ServiceSpec["user"] {
  return imageUser === undefined ? serviceUser : { uid: imageUser, gid: serviceUser.gid };
}
