import type { Input } from "@pulumi/pulumi";
import type { stackServices, StackServiceName } from "#daemon/stack-services.ts";
import type { HealthSpec } from "./health-spec.ts";

/** Name of a service of a stack, from which the names of containers, Kubernetes objects and hosts are made. */
export type ServiceName = StackServiceName;

/** Name of the image that runs a service; the target knows how to get the image. */
export type ImageName = (typeof stackServices)[ServiceName]["image"];

/**
 * Clients that may reach a port: `public` from outside, `peers` other nodes of the chain from outside, `system` the other services of the stack, `pod`
 * only containers next to the service.
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
  /** Directory of the volume that is mounted; absent: all of it. Whoever makes it does so before. */
  directory?: string;
  path: string;
  readOnly: boolean;
  /** Kept by `pulumi destroy` and protected against deletion: chain data and ledgers. */
  keep: boolean;
  /** Size that Kubernetes claims; Docker volumes are as large as their disk. */
  sizeGibibytes: number;
}>;

/**
 * Address that a node announces to its peers: a fixed one, or one that only the place where it runs knows: the pod's own, or that of the cluster's
 * machine that the pod runs on.
 */
export type HostAddress = Readonly<{ kind: "fixed"; address: string }> | Readonly<{ kind: "pod" | "machine" }>;

/** The node's first `node.conf`: put where it is missing, and never written over, because the sidecar keeps it from then on. */
export type SeedSpec = Readonly<{
  path: string;
  content: string;
  host: HostAddress;
  /** Directories of a real node, whose programs are its image's own; absent for the devnet, which makes its workspace itself. */
  places?: NodePlaces;
}>;

/** Directories of a node's container, by content. */
export type NodePlaces = Readonly<{
  bin: string;
  data: string;
  keys: string;
  /** Paths at which earlier releases kept node.conf on the node's volume. */
  formerConf: readonly string[];
  /** Parts of a node whose image copies its programs to the workspace at each start; absent if the stack copies them. */
  entryPoint?: EntryPointPlaces;
}>;

/** Parts of a node's workspace that the entry point of its image reads before it starts the node. */
export type EntryPointPlaces = Readonly<{
  /** Files that the stack puts into the workspace before each start of it. */
  files: readonly PlacedFile[];
  /** Names of the keys' files; the entry point would make another identity where one is missing. */
  keyNames: readonly string[];
  /** Directory whose presence keeps the entry point from running genesis. */
  genesisMark: string | undefined;
  /** The node's command-line tool, and the configuration file that it is given. */
  cli: Readonly<{ tool: string; configArgument: string }>;
}>;

/** A file of the node's workspace, at an absolute path in its container. */
export type PlacedFile = Readonly<{ path: string; content: Input<string> }>;

/** Files that are there already: in a Secret of the service's namespace, or in a directory of its Docker host. */
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

/** Port at which a service answers Prometheus. */
export type MetricsSpec = Readonly<{
  /** Name of the port that answers `/metrics`. */
  port: string;
  /** Whether samples keep their own labels; a Pushgateway's have the job that they were pushed under. */
  honorLabels?: true;
}>;

/** Most CPUs and memory that a service may use. */
export type ResourceLimits = Readonly<{ cpus: number; memoryMebibytes: number }>;

/** Everything that a target has to know to run one service; made by a pure builder, translated once per target. */
export type ServiceSpec = Readonly<{
  name: ServiceName;
  image: ImageName;
  /** Arguments of the image's entry point; undefined leaves the image's own. */
  arguments: readonly string[] | undefined;
  environment: Readonly<Record<string, string>>;
  /** Variables with secrets, for an image that reads them from nowhere else. */
  secretEnvironment?: Readonly<Record<string, Input<string>>>;
  files: readonly FileSpec[];
  /** Files that it reads again as they change: a change of them, and of nothing else, stops nothing. */
  liveFiles?: readonly FileSpec[];
  /** Secrets whose change hands it over and stops nothing. Apart from the live files, which nobody has to hide. */
  liveSecrets?: readonly FileSpec[];
  /** Files that it finds besides or instead of `files`. */
  foreignFiles?: ForeignFiles | undefined;
  /** Directory of its files in its container; default: {@link filesDirectory}. */
  filesDirectory?: string;
  /** Further directories that have all of its own files. */
  furtherFilesDirectories?: readonly string[];
  ports: readonly PortSpec[];
  volumes: readonly VolumeSpec[];
  /** Directory of its image that it runs from and writes to: the container has a copy, remade for every image. */
  programs?: string;
  /** Directories besides `/tmp` that it writes to, whose content is not kept. */
  scratchDirectories?: readonly string[];
  edges: readonly Edge[];
  /** Services that are up before it is started, as far as the stack has them. */
  startsAfter?: readonly ServiceName[];
  /** Port of `/metrics`; absent if it has no metrics, or if nobody can request them. */
  metrics?: MetricsSpec;
  /** The node's configuration, which has to be there before the first start. */
  seed?: SeedSpec;
  /** Undefined if there is nothing to probe. */
  health: HealthSpec | undefined;
  limits: ResourceLimits;
  /** Open files that its process may have; absent: as many as the engine allows. */
  openFiles?: number | undefined;
  user: Readonly<{ uid: number; gid: number }>;
  /** Signal that stops it; default: SIGTERM. */
  stopSignal?: "SIGINT";
  stopGraceSeconds: number;
  replicas: Replicas;
}>;

/** Number of a service's processes: at least `min`; more, up to `max`, while they are busy. */
export type Replicas = Readonly<{ min: number; max: number }>;

/** A single process. */
export const oneReplica: Replicas = { min: 1, max: 1 };

/** User that Gatehouse's images run as, and that owns its files and volumes. */
export const serviceUser = { uid: 10_001, gid: 10_001 } as const;

/** Default directory of a service's files in its container. */
export const filesDirectory = "/run/gatehouse/files";

/** Directory of the files that a service reads again as they change; apart from the others, which come and go with the container. */
export const liveFilesDirectory = "/run/gatehouse/live";

/** Lists the files that a service reads again as they change. */
export function listLiveFiles(spec: ServiceSpec): readonly FileSpec[] {
  return spec.liveFiles ?? [];
}

/** Directory of the secrets whose change hands a service over. */
export const liveSecretsDirectory = "/run/gatehouse/secrets";

/** Lists the secrets whose change hands a service over. */
export function listLiveSecrets(spec: ServiceSpec): readonly FileSpec[] {
  return spec.liveSecrets ?? [];
}

/** Finds the directory of a service's files in its own container. */
export function findFilesDirectory(spec: ServiceSpec): string {
  return spec.filesDirectory ?? filesDirectory;
}

/** Lists all directories of a service's files in its own container. */
export function listFilesDirectories(spec: ServiceSpec): readonly string[] {
  return [findFilesDirectory(spec), ...(spec.furtherFilesDirectories ?? [])];
}

/** Whether a service finds files at its start, its own or foreign ones. */
export function hasFiles({ files, foreignFiles }: ServiceSpec): boolean {
  return files.length > 0 || foreignFiles !== undefined;
}

/** Builds the key of a mounted volume, or of a directory of one, within a stack. */
export function toVolumeKey({ name, directory }: VolumeSpec): string {
  return directory === undefined ? name : `${name}-${directory}`;
}

/** Directory of a service's ledger or other state in its container. */
export const stateDirectory = "/var/lib/gatehouse";

/** Finds the port of a name. @throws {Error} if the service has no such port, which is a mistake in a builder. */
export function findPort(spec: ServiceSpec, name: string): PortSpec {
  const found = spec.ports.find((port) => port.name === name);
  if (found === undefined) throw new Error(`${spec.name} has no port named ${name}`);
  return found;
}

/** Chooses the user of a node's image, in the group that owns the workspace next to it; for the devnet, that of all of Gatehouse. */
export function chooseNodeUser(imageUser: number | undefined): ServiceSpec["user"] {
  return imageUser === undefined ? serviceUser : { uid: imageUser, gid: serviceUser.gid };
}
