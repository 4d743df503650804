/**
 * Default ports, by service and name, for settings and deployments. Numbers follow the specification where it defines them ("Limits", the
 * samples of `node.conf` and `monitor_config`).
 */
export const defaultPorts = {
  node: { http: 18_100, webSocket: 18_200, rpc: 20_000, peers: 19_000 },
  sidecar: { rpc: 8_545, "private-rpc": 8_547, status: 9_600 },
  /** A gateway, also in a sidecar; no stack publishes this port. */
  gateway: { "internal-rpc": 8_548 },
  pushgateway: { http: 9_091 },
  facilitator: { http: 3_000, operations: 9_602 },
  "resource-server": { http: 4_021, operations: 9_601 },
  upstream: { http: 4_022 },
} as const;
