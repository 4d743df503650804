import { posix } from "node:path";
import { nodeFamilies, type NodeFamily } from "#node/families.ts";
import { nodeReleases, findReleaseOfText, type NodeReleases } from "#node/versions.ts";
import {
  chainDataDirectory,
  keysDirectory,
  locateConf,
  nodePorts,
  deriveProgramDirectory,
  workspaceDirectory,
} from "./node-layout.ts";
import { keyFiles } from "./node-keys.ts";
import type { EntryPointPlaces, HostAddress, PlacedFile, SeedSpec, ServiceSpec } from "../service-spec.ts";

/** Values of a node's first configuration. */
export type NodeConfArgs = Readonly<{
  version: string;
  /** Address that the node announces to its peers. */
  host: HostAddress;
  /** TCP port that peers connect to; the node listens on the port that it announces. */
  peerPort: number;
  jobName: string;
  pushAddress: string;
  pushPort: number;
  pushIntervalSeconds: number;
}>;

/** Family of the devnet. */
const [devnetFamily] = nodeFamilies;

/** Place of the programs in a node's image, as the stack names it. */
export type ProgramPlace = Readonly<{
  /** Directory of the programs; default: by the node's version. */
  binDirectory?: string | undefined;
  nodeDirectory?: string | undefined;
}>;

/** Builds the devnet's first `node.conf`, where its version looks for it (specification, "Versioning", 1). */
export function buildDevnetConfSeed(args: NodeConfArgs, releases: NodeReleases = nodeReleases): SeedSpec {
  const { layout } = findReleaseOfText(args.version, releases);
  const path = `${deriveProgramDirectory(layout, devnetFamily.nodeDirectory)}/node.conf`;
  return { path, content: renderNodeConf(args, devnetFamily, releases), host: args.host };
}

/** Finds the directory of a node's container with its programs, whichever node it is. */
export function findBinDirectory({ seed }: Pick<ServiceSpec, "seed">): string | undefined {
  return seed === undefined ? undefined : (seed.places?.bin ?? posix.dirname(seed.path));
}

/** Place, family and files of a real node's workspace. */
export type NodeWorkspace = ProgramPlace &
  Readonly<{
    /** Default: the specification's. */
    family?: NodeFamily;
    /** Files that the stack puts into it. */
    files?: readonly PlacedFile[];
  }>;

/** Builds a real node's first `node.conf`, and the directories of its container. */
export function buildNodeConfSeed(
  args: NodeConfArgs,
  { binDirectory, family = devnetFamily, nodeDirectory = family.nodeDirectory, files = [] }: NodeWorkspace,
  releases: NodeReleases = nodeReleases,
): SeedSpec {
  const bin = binDirectory ?? deriveProgramDirectory(findReleaseOfText(args.version, releases).layout, nodeDirectory);
  const path = locateConf(family);
  const standard = releases.toReversed().map(({ layout }) => deriveProgramDirectory(layout, nodeDirectory));
  const hasEntryPoint = family.image.programs === "entry-point";
  const former = hasEntryPoint
    ? family.configPlaces.map((place) => `${workspaceDirectory}/${place}`).filter((place) => place !== path)
    : [...new Set([bin, ...standard])].map((directory) => `${directory}/node.conf`);
  const places = {
    bin,
    data: chainDataDirectory,
    keys: keysDirectory,
    formerConf: former,
    ...(hasEntryPoint ? { entryPoint: buildEntryPoint(family, path, files) } : {}),
  };
  return { path, content: renderNodeConf(args, family, releases), host: args.host, places };
}

function buildEntryPoint(
  { image: { genesisMark }, programs: { tool } }: NodeFamily,
  conf: string,
  files: readonly PlacedFile[],
): EntryPointPlaces {
  return {
    files,
    keyNames: Object.values(keyFiles),
    genesisMark: genesisMark === undefined ? undefined : `${chainDataDirectory}/${genesisMark}`,
    cli: { tool, configArgument: conf },
  };
}

/**
 * Renders a node's first `node.conf` (specification, "Node configuration file"), with the metrics keys of the node's version
 * ("Versioning", 2). An address that only the place knows is filled in there.
 */
function renderNodeConf(args: NodeConfArgs, { image }: NodeFamily, releases: NodeReleases): string {
  const { monitorKeys: keys } = findReleaseOfText(args.version, releases);
  const configuration = {
    chain: {
      monitor_config: {
        [keys.enabled]: true,
        [keys.jobName]: args.jobName,
        [keys.pushAddress]: args.pushAddress,
        [keys.pushIntervalSeconds]: args.pushIntervalSeconds,
        [keys.pushPort]: args.pushPort,
      },
      secret_config: {
        domain_key_path: `${keysDirectory}/${keyFiles.domainKey}`,
        stabilizing_key_path: `${keysDirectory}/${keyFiles.stabilizingKey}`,
      },
      startup_config: {
        init_config: {
          meta_path: `${workspaceDirectory}/${image.metaPath}`,
          host_ip: args.host.kind === "fixed" ? args.host.address : "127.0.0.1",
          http_port: String(nodePorts.http),
          rpc_port: String(nodePorts.rpc),
          tcp_port: String(args.peerPort),
          ws_port: String(nodePorts.webSocket),
        },
      },
    },
    storage: { mygrid_conf: {}, mygrid_env: { storage_data_path: chainDataDirectory } },
  };
  return `${JSON.stringify(configuration, undefined, 2)}\n`;
}

/** Program in the image that puts the node's first configuration where it is missing. */
const seedProgram = "/app/infra/images/seed-node-conf.ts";

/** Variable in which that program finds the address that the node announces to its peers. */
export const hostIpVariable = "HOST_IP";

/** Path at which that program finds the directory that the node will run in. */
export const stagedBin = "/run/gatehouse/bin";

/** Names a placed file where that program finds it; its path may have slashes, which a Secret's entries may not. */
export function namePlacedFile(index: number): string {
  return `placed-${index}`;
}

/** Directories in which the program that seeds a node's configuration finds its sources. */
export type SeedSources = Readonly<{
  /** The node's first configuration. */
  conf: string;
  /** Directory of the image's programs, if they are to be copied. */
  programs?: string | undefined;
  /** Directory of the files that the stack puts into the workspace. */
  placed: string;
}>;

/** Builds the arguments of Node that run that program. */
export function buildSeedCommand({ path, places }: SeedSpec, { conf, programs, placed }: SeedSources): string[] {
  if (places === undefined) return [seedProgram, conf, path];
  const { entryPoint } = places;
  const program = [seedProgram, conf, path, ...places.formerConf.flatMap((former) => ["--adopt", former])];
  const directories = ["--bin", places.bin, "--data", places.data, "--keys", places.keys];
  if (entryPoint === undefined) {
    const copied = programs === undefined ? [] : ["--programs", programs];
    return [...program, "--link", `${stagedBin}/node.conf`, ...copied, ...directories];
  }
  const { files, keyNames, genesisMark } = entryPoint;
  return [
    ...program,
    ...files.flatMap((file, index) => ["--place", `${placed}/${namePlacedFile(index)}=${file.path}`]),
    ...keyNames.flatMap((name) => ["--require", `${places.keys}/${name}`]),
    ...(genesisMark === undefined ? [] : ["--genesis-mark", genesisMark]),
    ...directories,
  ];
}
