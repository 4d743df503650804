import { join } from "node:path";
import { findReleaseOfText, type MonitorKeys } from "#node/versions.ts";
import type { MonitorSettings } from "../monitor/monitor-settings.ts";
import type { Workspace } from "./workspace.ts";

export type NodePorts = Readonly<{ http: number; webSocket: number; rpc: number; tcp: number }>;

export type NodeConfOptions = Readonly<{
  version: string;
  workspace: Workspace;
  /** Address that the node advertises to its peers. */
  hostIp: string;
  ports: NodePorts;
  /** If unset, there is no `monitor_config`. */
  monitor?: MonitorSettings | undefined;
}>;

/** Formats a new `node.conf` (specification, "Node operations objects"). */
export function formatNodeConf({ version, workspace, hostIp, ports, monitor }: NodeConfOptions): string {
  const { monitorKeys } = findReleaseOfText(version);
  const conf = {
    chain: {
      ...(monitor === undefined ? {} : { monitor_config: buildMonitorConfig(monitorKeys, monitor) }),
      secret_config: {
        domain_key_path: join(workspace.keyDirectory, "domain.key"),
        stabilizing_key_path: join(workspace.keyDirectory, "stabilizing.key"),
      },
      startup_config: {
        init_config: {
          meta_path: join(workspace.dataDirectory, "meta"),
          host_ip: hostIp,
          http_port: String(ports.http),
          rpc_port: String(ports.rpc),
          tcp_port: String(ports.tcp),
          ws_port: String(ports.webSocket),
        },
      },
    },
    storage: {
      mygrid_conf: {},
      mygrid_env: { storage_data_path: workspace.dataDirectory },
    },
  };
  return `${JSON.stringify(conf, null, 2)}\n`;
}

function buildMonitorConfig(keys: MonitorKeys, target: MonitorSettings): Record<string, unknown> {
  return {
    [keys.enabled]: true,
    [keys.jobName]: target.jobName,
    [keys.pushAddress]: target.pushAddress,
    [keys.pushIntervalSeconds]: target.pushIntervalSeconds,
    [keys.pushPort]: target.pushPort,
  };
}
