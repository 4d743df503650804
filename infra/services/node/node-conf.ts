import { posix } from "node:path";
import { nodeReleases, findReleaseOfText, type NodeReleases } from "#node/versions.ts";
import { chainDataDirectory, confPath, keysDirectory, nodePorts, deriveProgramDirectory } from "./node-layout.ts";
import { keyFiles } from "./node-keys.ts";
import type { HostAddress, SeedSpec, ServiceSpec } from "../service-spec.ts";

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

/** Directory of the node inside the workspace in the layout before v0.11; the sidecar's default. */
const defaultNodeDirectory = "node";

/** Place of the programs in a node's image, as the stack names it. */
export type ProgramPlace = Readonly<{
  /** Directory of the programs; default: by the node's version. */
  binDirectory?: string | undefined;
  nodeDirectory?: string | undefined;
}>;

/** Builds the devnet's first `node.conf`, where its version looks for it (specification, "Versioning", 1). */
export function buildDevnetConfSeed(args: NodeConfArgs, releases: NodeReleases = nodeReleases): SeedSpec {
  const { layout } = findReleaseOfText(args.version, releases);
  const path = `${deriveProgramDirectory(layout, defaultNodeDirectory)}/node.conf`;
  return { path, content: renderNodeConf(args, releases), host: args.host };
}

/** Finds the directory of a node's container with its programs, whichever node it is. */
export function findBinDirectory({ seed }: Pick<ServiceSpec, "seed">): string | undefined {
  return seed === undefined ? undefined : (seed.places?.bin ?? posix.dirname(seed.path));
}

/** Builds a real node's first `node.conf`, and the directories of its container. */
export function buildNodeConfSeed(
  args: NodeConfArgs,
  { binDirectory, nodeDirectory = defaultNodeDirectory }: ProgramPlace,
  releases: NodeReleases = nodeReleases,
): SeedSpec {
  const bin = binDirectory ?? deriveProgramDirectory(findReleaseOfText(args.version, releases).layout, nodeDirectory);
  const standard = releases.toReversed().map(({ layout }) => deriveProgramDirectory(layout, nodeDirectory));
  const formerConf = [...new Set([bin, ...standard])].map((directory) => `${directory}/node.conf`);
  const places = { bin, data: chainDataDirectory, keys: keysDirectory, formerConf };
  return { path: confPath, content: renderNodeConf(args, releases), host: args.host, places };
}

/**
 * Renders a node's first `node.conf` (specification, "Node configuration file"), with the metrics keys of the node's version
 * ("Versioning", 2). An address that only the place knows is filled in there.
 */
function renderNodeConf(args: NodeConfArgs, releases: NodeReleases): string {
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
          meta_path: `${chainDataDirectory}/meta`,
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

/**
 * Builds the arguments of Node that run that program.
 *
 * @param from the node's first configuration.
 * @param programs directory of the image's programs, if they are to be copied.
 */
export function buildSeedCommand(seed: SeedSpec, from: string, programs?: string): string[] {
  const { path, places } = seed;
  if (places === undefined) return [seedProgram, from, path];
  return [
    seedProgram,
    from,
    path,
    ...places.formerConf.flatMap((former) => ["--adopt", former]),
    "--link",
    `${stagedBin}/node.conf`,
    ...(programs === undefined ? [] : ["--programs", programs]),
    "--bin",
    places.bin,
    "--data",
    places.data,
    "--keys",
    places.keys,
  ];
}
