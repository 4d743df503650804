import { posix } from "node:path";
import { binDirectories, chainDataDirectory, confPath, keysDirectory, nodePorts } from "./node-layout.ts";
import { keyFiles } from "./node-keys.ts";
import type { HostAddress, SeedSpec, ServiceSpec } from "./service-spec.ts";

/** What a node's first configuration is made from. */
export type NodeConfArgs = Readonly<{
  version: string;
  /** Address that the node tells to its peers. */
  host: HostAddress;
  /** TCP port that peers connect to; the node listens on the port that it tells them. */
  peerPort: number;
  jobName: string;
  pushAddress: string;
  pushPort: number;
  pushIntervalSeconds: number;
}>;

/** Directory of the node inside the workspace in the layout before v0.11; the sidecar's default. */
const defaultNodeDirectory = "node";

/** What a stack says of where its node's image has its programs. */
export type ProgramPlace = Readonly<{
  /** Directory of the programs; default: by the node's version. */
  binDirectory?: string | undefined;
  nodeDirectory?: string | undefined;
}>;

/** The devnet's first `node.conf`, where its version looks for it (specification, "Versioning", 1). */
export function devnetConfSeed(args: NodeConfArgs): SeedSpec {
  return { path: `${programDirectory(args.version, {})}/node.conf`, content: nodeConf(args), host: args.host };
}

/** The directory of a node's container with its programs, whichever node it is. */
export function binDirectoryOf({ seed }: Pick<ServiceSpec, "seed">): string | undefined {
  return seed === undefined ? undefined : (seed.places?.bin ?? posix.dirname(seed.path));
}

/** A real node's first `node.conf`, and where its container has what. */
export function nodeConfSeed(args: NodeConfArgs, place: ProgramPlace): SeedSpec {
  const { current, legacy } = binDirectories(place.nodeDirectory ?? defaultNodeDirectory);
  const bin = programDirectory(args.version, place);
  const formerConf = [...new Set([bin, current, legacy])].map((directory) => `${directory}/node.conf`);
  const places = { bin, data: chainDataDirectory, keys: keysDirectory, formerConf };
  return { path: confPath, content: nodeConf(args), host: args.host, places };
}

function programDirectory(
  version: string,
  { binDirectory, nodeDirectory = defaultNodeDirectory }: ProgramPlace,
): string {
  const { current, legacy } = binDirectories(nodeDirectory);
  return binDirectory ?? (isAtLeast(version, 11) ? current : legacy);
}

/**
 * Renders a node's first `node.conf` (specification, "Node configuration file"), with the metrics keys of the node's version
 * ("Versioning", 2). An address that only the place knows is filled in there.
 */
function nodeConf(args: NodeConfArgs): string {
  const storage = isAtLeast(args.version, 16);
  const key = (field: string) => (storage ? `storage_cetina_${field}` : `pamir_cetina_${field}`);
  const configuration = {
    chain: {
      monitor_config: {
        [storage ? "storage_enable_cetina" : "enable_pamir_cetina"]: true,
        [key("job_name")]: args.jobName,
        [key("push_address")]: args.pushAddress,
        [key("push_interval")]: args.pushIntervalSeconds,
        [key("push_port")]: args.pushPort,
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

/** Whether a version is 0.`minor` or later. */
function isAtLeast(version: string, wanted: number): boolean {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 0 || Number(minor) >= wanted;
}
