import { posix } from "node:path";
import { nodeFamilies, type NodeFamily } from "#node/families.ts";
import { findReleaseOfText } from "#node/versions.ts";
import {
  chainDataDirectory,
  keysDirectory,
  locateConf,
  nodePorts,
  deriveProgramDirectory,
  workspaceDirectory,
} from "./node-layout.ts";
import { keyFiles } from "./node-keys.ts";
import type { EntryPointLocations, HostAddress, MountedFile, SeedSpec, ServiceSpec } from "../service-spec.ts";

export type NodeConfArgs = Readonly<{
  version: string;
  host: HostAddress;
  /** TCP port to which peers connect; the node announces the port on which it listens. */
  peerPort: number;
  jobName: string;
  pushAddress: string;
  pushPort: number;
  pushIntervalSeconds: number;
}>;

const [devnetFamily] = nodeFamilies;

/** Location of the programs in a node's image, as configured in the stack. */
export type ProgramLocation = Readonly<{
  /** Directory that contains the programs; the default depends on the node's version. */
  binDirectory?: string | undefined;
  nodeDirectory?: string | undefined;
}>;

/** Builds the devnet's initial `node.conf` at the path that its version reads (specification, "Versioning", 1). */
export function buildDevnetConfSeed(args: NodeConfArgs): SeedSpec {
  const { layout } = findReleaseOfText(args.version);
  const path = `${deriveProgramDirectory(layout, devnetFamily.nodeDirectory)}/node.conf`;
  return { path, content: renderNodeConf(args, devnetFamily), host: args.host };
}

/** Returns the directory that contains the programs in a node's container, for both real nodes and the devnet. */
export function findBinDirectory({ seed }: Pick<ServiceSpec, "seed">): string | undefined {
  return seed === undefined ? undefined : (seed.locations?.bin ?? posix.dirname(seed.path));
}

export type NodeWorkspace = ProgramLocation &
  Readonly<{
    /** Family of the node; default: the specification's. */
    family?: NodeFamily;
    files?: readonly MountedFile[];
  }>;

export function buildNodeConfSeed(
  args: NodeConfArgs,
  { binDirectory, family = devnetFamily, nodeDirectory = family.nodeDirectory, files = [] }: NodeWorkspace,
): SeedSpec {
  const bin = binDirectory ?? deriveProgramDirectory(findReleaseOfText(args.version).layout, nodeDirectory);
  const path = locateConf(family);
  const hasEntryPoint = family.image.programs === "entry-point";
  const locations = {
    bin,
    data: chainDataDirectory,
    keys: keysDirectory,
    ...(hasEntryPoint ? { entryPoint: buildEntryPoint(family, path, files) } : {}),
  };
  return { path, content: renderNodeConf(args, family), host: args.host, locations };
}

function buildEntryPoint(
  { image: { genesisMark }, programs: { tool } }: NodeFamily,
  conf: string,
  files: readonly MountedFile[],
): EntryPointLocations {
  return {
    files,
    keyNames: Object.values(keyFiles),
    genesisMark: genesisMark === undefined ? undefined : `${chainDataDirectory}/${genesisMark}`,
    cli: { tool, configArgument: conf },
  };
}

/**
 * Renders a node's initial `node.conf` (specification, "Node configuration file"), with the metrics keys for the node's version
 * ("Versioning", 2). An address that is known only where the node runs is filled in there.
 */
function renderNodeConf(args: NodeConfArgs, { image }: NodeFamily): string {
  const { monitorKeys: keys } = findReleaseOfText(args.version);
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

/** Program in the image that writes the node's initial configuration if it is missing. */
const seedProgram = "/app/infra/images/seed-node-conf.ts";

/** Environment variable that tells the seed program which address the node announces to its peers. */
export const hostIpVariable = "HOST_IP";

/** Path at which the seed program finds the node's future working directory. */
export const stagedBin = "/run/gatehouse/bin";

/**
 * Returns the name under which the seed program finds an installed file; the file's own path may contain slashes, which are not allowed in
 * the keys of a Secret.
 */
export function namePlacedFile(index: number): string {
  return `placed-${index}`;
}

export type SeedSources = Readonly<{
  conf: string;
  /** Directory that contains the image's programs, if they need to be copied. */
  programs?: string | undefined;
  placed: string;
}>;

export function buildSeedCommand({ path, locations }: SeedSpec, { conf, programs, placed }: SeedSources): string[] {
  if (locations === undefined) return [seedProgram, conf, path];
  const { entryPoint } = locations;
  const program = [seedProgram, conf, path];
  const directories = ["--bin", locations.bin, "--data", locations.data, "--keys", locations.keys];
  if (entryPoint === undefined) {
    const copied = programs === undefined ? [] : ["--programs", programs];
    return [...program, "--link", `${stagedBin}/node.conf`, ...copied, ...directories];
  }
  const { files, keyNames, genesisMark } = entryPoint;
  return [
    ...program,
    ...files.flatMap((file, index) => ["--place", `${placed}/${namePlacedFile(index)}=${file.path}`]),
    ...keyNames.flatMap((name) => ["--require", `${locations.keys}/${name}`]),
    ...(genesisMark === undefined ? [] : ["--genesis-mark", genesisMark]),
    ...directories,
  ];
}
