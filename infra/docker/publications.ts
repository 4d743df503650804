import type { ServiceName, ServiceSpec } from "../services/service-spec.ts";
import type { Placement } from "./container-args.ts";

const loopback = "127.0.0.1";

/** Addresses and ports of the host for published ports. */
export type PublishOptions = Readonly<{
  publishAddress: string;
  /** Ports that are absent are not published. */
  hostPorts: Readonly<
    Partial<
      Record<
        | "gateway"
        | "privateGateway"
        | "resourceServer"
        | "resourceServerOperations"
        | "status"
        | "pushgateway"
        | "prometheus"
        | "alertmanager"
        | "grafana",
        number
      >
    >
  >;
}>;

/**
 * Lists the ports of a service that the host publishes: the gateway, the resource server, the node's port for its peers; on loopback, the gateway's
 * private listener, whose tokens want TLS in front, the ports that Prometheus scrapes (the sidecar's status, the resource server's metrics, the
 * Pushgateway), and those that operators open (Prometheus, Alertmanager, Grafana). The node's own RPC is published nowhere.
 */
export function listPublications(spec: ServiceSpec, options: PublishOptions): Placement["published"] {
  const { publishAddress, hostPorts } = options;
  if (spec.name === "sidecar") {
    return {
      ...listPublished("rpc", publishAddress, hostPorts.gateway),
      ...listPublished("private-rpc", loopback, hostPorts.privateGateway),
      ...listPublished("status", loopback, hostPorts.status),
    };
  }
  if (spec.name === "resource-server") {
    return {
      ...listPublished("http", publishAddress, hostPorts.resourceServer),
      ...listPublished("operations", loopback, hostPorts.resourceServerOperations),
    };
  }
  if (isForOperators(spec.name)) return listPublished("http", loopback, hostPorts[spec.name]);
  return Object.fromEntries(
    spec.ports
      .filter((port) => port.audience === "peers")
      .map((port) => [port.name, { address: "0.0.0.0", port: port.number }]),
  );
}

const forOperators = ["pushgateway", "prometheus", "alertmanager", "grafana"] as const;

function isForOperators(name: ServiceName): name is (typeof forOperators)[number] {
  return forOperators.some((one) => one === name);
}

function listPublished(port: string, address: string, hostPort: number | undefined): Placement["published"] {
  return hostPort === undefined ? {} : { [port]: { address, port: hostPort } };
}
