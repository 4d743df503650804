import type { Input } from "@pulumi/pulumi";
import type { stackServices, StackServiceName } from "#daemon/stack-services.ts";
import type { HealthSpec } from "./health-spec.ts";

/** The services of a stack, by the name that containers, Kubernetes objects and network names are made of. */
export type ServiceName = StackServiceName;

/** Which image runs a service; the target knows how the image is come by. */
export type ImageName = (typeof stackServices)[ServiceName]["image"];

/**
 * Who may reach a port: `public` from outside, `peers` other nodes of the chain from outside, `system` the other services of the
 * stack, `pod` only what stands next to the service.
 */
type Audience = "public" | "peers" | "system" | "pod";

/** A TCP port that a service listens on. */
export type PortSpec = Readonly<{ name: string; number: number; audience: Audience }>;

/** A file that a service finds at its start, mode 0400 and owned by the service's user. */
export type FileSpec = Readonly<{ name: string; content: Input<string>; secret: boolean }>;

/** A directory that outlives the container. */
export type VolumeSpec = Readonly<{
  /** Volumes of one name are one volume, whichever services mount it. */
  name: string;
  /** The directory of the volume that is mounted; absent: all of it. Whoever makes it does so before. */
  directory?: string;
  path: string;
  readOnly: boolean;
  /** Kept by `pulumi destroy` and protected against deletion: chain data and ledgers. */
  keep: boolean;
  /** Size that Kubernetes claims; Docker volumes are as large as their disk. */
  sizeGibibytes: number;
}>;

/**
 * The address that a node announces to its peers: a fixed one, or one that only the place where it runs knows: the pod's own, or that
 * of the cluster's machine that the pod runs on.
 */
export type HostAddress = Readonly<{ kind: "fixed"; address: string }> | Readonly<{ kind: "pod" | "machine" }>;

/** The node's first `node.conf`: put where it is missing, and never written over, because the sidecar keeps it from then on. */
export type SeedSpec = Readonly<{
  path: string;
  content: string;
  host: HostAddress;
  /** Where a real node finds what, whose programs are its image's own; absent for the devnet, which makes its workspace itself. */
  places?: NodePlaces;
}>;

/** Directories of a node's container, by what they hold. */
export type NodePlaces = Readonly<{
  bin: string;
  data: string;
  keys: string;
  /** Where earlier releases kept node.conf on the node's volume. */
  formerConf: readonly string[];
}>;

/** Files that stand ready where the service runs: in a Secret of its namespace, or in a directory of its Docker host. */
export type ForeignFiles = Readonly<{ names: readonly string[] }> &
  (Readonly<{ kind: "secret"; name: string }> | Readonly<{ kind: "host"; directory: string }>);

/** A connection that a service opens: the edges that the network policies allow. */
export type Edge =
  | Readonly<{ to: ServiceName; port: string }>
  | Readonly<{ to: "internet" }>
  | Readonly<{ to: "api" }>
  | Readonly<{ to: "namespace"; namespace: string }>
  | HostEdge;

/** A connection to a port outside of the stack: of one range of addresses, or of any host. */
export type HostEdge = Readonly<{ to: "host"; port: number; cidr: string | undefined }>;

/** Where a service answers Prometheus. */
export type MetricsSpec = Readonly<{
  /** Name of the port that answers `/metrics`. */
  port: string;
  /** Whether samples keep the labels that they come with; a Pushgateway's have the job that they were pushed under. */
  honorLabels?: true;
}>;

/** What a service may use at most. */
export type ResourceLimits = Readonly<{ cpus: number; memoryMebibytes: number }>;

/** Everything that a target needs to know to run one service; made by a pure builder, translated once per target. */
export type ServiceSpec = Readonly<{
  name: ServiceName;
  image: ImageName;
  /** Arguments of the image's entry point; absent leaves the image's own. */
  arguments: readonly string[] | undefined;
  environment: Readonly<Record<string, string>>;
  files: readonly FileSpec[];
  /** Files that it reads again as they change: a change of them, and of nothing else, stops nothing. */
  liveFiles?: readonly FileSpec[];
  /** Secrets that it is handed over by as they change: a change of one stops nothing. Apart from the live files, which nobody has to hide. */
  liveSecrets?: readonly FileSpec[];
  /** Files that it finds besides or instead of `files`. */
  foreignFiles?: ForeignFiles | undefined;
  /** Where its files stand in its container; default: {@link filesDirectory}. */
  filesDirectory?: string;
  /** Where else its own files stand, all of them at each place. */
  furtherFilesDirectories?: readonly string[];
  ports: readonly PortSpec[];
  volumes: readonly VolumeSpec[];
  /** Directory of its image that it runs from and writes to: the container has a copy, remade for every image. */
  programs?: string;
  /** Directories besides `/tmp` that it writes to and nobody keeps. */
  scratchDirectories?: readonly string[];
  edges: readonly Edge[];
  /** Where it answers `/metrics`; absent where it has none, or where nobody can request them. */
  metrics?: MetricsSpec;
  /** A configuration that has to be there before the first start; the node's. */
  seed?: SeedSpec;
  /** Absent where there is nothing to probe. */
  health: HealthSpec | undefined;
  limits: ResourceLimits;
  user: Readonly<{ uid: number; gid: number }>;
  /** The signal that stops it, where that is not SIGTERM. */
  stopSignal?: "SIGINT";
  stopGraceSeconds: number;
  replicas: Replicas;
}>;

/** How many processes of a service run: at least `min`; more, up to `max`, while they are busy. */
export type Replicas = Readonly<{ min: number; max: number }>;

/** A service that is one process. */
export const oneReplica: Replicas = { min: 1, max: 1 };

/** The user that Gatehouse's images run as, and that owns its files and volumes. */
export const serviceUser = { uid: 10_001, gid: 10_001 } as const;

/** Where a service's files stand in its container. */
export const filesDirectory = "/run/gatehouse/files";

/** Where the files stand that a service reads again as they change; their own directory, because the others come and go with the container. */
export const liveFilesDirectory = "/run/gatehouse/live";

/** The files that a service reads again as they change. */
export function listLiveFiles(spec: ServiceSpec): readonly FileSpec[] {
  return spec.liveFiles ?? [];
}

/** Where the secrets stand that a service is handed over by as they change. */
export const liveSecretsDirectory = "/run/gatehouse/secrets";

/** The secrets that a service is handed over by as they change. */
export function listLiveSecrets(spec: ServiceSpec): readonly FileSpec[] {
  return spec.liveSecrets ?? [];
}

/** Where a service's files stand in its own container. */
export function findFilesDirectory(spec: ServiceSpec): string {
  return spec.filesDirectory ?? filesDirectory;
}

/** All places where a service's files stand in its own container. */
export function listFilesDirectories(spec: ServiceSpec): readonly string[] {
  return [findFilesDirectory(spec), ...(spec.furtherFilesDirectories ?? [])];
}

/** Whether a service finds files at its start, its own or foreign ones. */
export function hasFiles({ files, foreignFiles }: ServiceSpec): boolean {
  return files.length > 0 || foreignFiles !== undefined;
}

/** Identifies a mounted volume, or a directory of one, within a stack. */
export function toVolumeKey({ name, directory }: VolumeSpec): string {
  return directory === undefined ? name : `${name}-${directory}`;
}

/** Where a service keeps its ledger or other state in its container. */
export const stateDirectory = "/var/lib/gatehouse";

/** The port of that name. @throws {Error} when the service has no such port, which is a mistake in a builder. */
export function findPort(spec: ServiceSpec, name: string): PortSpec {
  const found = spec.ports.find((port) => port.name === name);
  if (found === undefined) throw new Error(`${spec.name} has no port named ${name}`);
  return found;
}

/** The user of a node's image, in the group that owns the workspace next to it; the devnet's is that of all of Gatehouse. */
export function chooseNodeUser(imageUser: number | undefined): ServiceSpec["user"] {
  return imageUser === undefined ? serviceUser : { uid: imageUser, gid: serviceUser.gid };
}
