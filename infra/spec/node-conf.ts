import { nodePorts, workspaceDirectory } from "./node-layout.ts";

/** What a node's first configuration is made from. */
export type NodeConfArgs = Readonly<{
  version: string;
  /** Address that the node tells to its peers. */
  hostIp: string;
  jobName: string;
  pushAddress: string;
  pushPort: number;
  pushIntervalSeconds: number;
}>;

/**
 * Renders a node's first `node.conf` (specification, "Node configuration file"), with the metrics keys of the node's version
 * ("Versioning", 2). The sidecar keeps it right from then on.
 */
export function nodeConf(args: NodeConfArgs): string {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(args.version) ?? [];
  const storage = Number(major) > 0 || Number(minor) >= 16;
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
          meta_path: `${workspaceDirectory}/data/meta`,
          host_ip: args.hostIp,
          http_port: String(nodePorts.http),
          rpc_port: "20000",
          tcp_port: String(nodePorts.peers),
          ws_port: String(nodePorts.webSocket),
        },
      },
    },
    storage: { mygrid_conf: {}, mygrid_env: { storage_data_path: `${workspaceDirectory}/data` } },
  };
  return `${JSON.stringify(configuration, undefined, 2)}\n`;
}
