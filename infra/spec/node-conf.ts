import { chainDataDirectory, nodePorts, workspaceDirectory } from "./node-layout.ts";
import type { HostAddress, SeedSpec } from "./service-spec.ts";

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
const legacyDirectory = "node";

/** The node's first `node.conf`, and where its version looks for it (specification, "Versioning", 1). */
export function nodeConfSeed(args: NodeConfArgs): SeedSpec {
  const directory = isAtLeast(args.version, 11) ? "bin" : `${legacyDirectory}/domain/client/bin`;
  return { path: `${workspaceDirectory}/${directory}/node.conf`, content: nodeConf(args), host: args.host };
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
        domain_key_path: `${workspaceDirectory}/keys/domain.key`,
        stabilizing_key_path: `${workspaceDirectory}/keys/stabilizing.key`,
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
