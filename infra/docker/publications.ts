import type { ServiceSpec } from "../services/service-spec.ts";
import type { Placement } from "./container-args.ts";

/** The host's side of published ports. */
export type PublishOptions = Readonly<{
  publishAddress: string;
  hostPorts: Readonly<
    Record<
      "gateway" | "privateGateway" | "resourceServer" | "resourceServerOperations" | "status" | "pushgateway",
      number
    >
  >;
}>;

/**
 * The ports of a service that the host publishes: the gateway, the resource server, the node's port for its peers, and on
 * loopback the gateway's private listener, whose tokens want TLS in front, and what Prometheus scrapes: the sidecar's status, the resource
 * server's metrics, the Pushgateway. The node's own RPC is published nowhere.
 */
export function publications(spec: ServiceSpec, options: PublishOptions): Placement["published"] {
  const address = options.publishAddress;
  if (spec.name === "sidecar") {
    return {
      rpc: { address, port: options.hostPorts.gateway },
      "private-rpc": { address: "127.0.0.1", port: options.hostPorts.privateGateway },
      status: { address: "127.0.0.1", port: options.hostPorts.status },
    };
  }
  if (spec.name === "resource-server") {
    return {
      http: { address, port: options.hostPorts.resourceServer },
      operations: { address: "127.0.0.1", port: options.hostPorts.resourceServerOperations },
    };
  }
  if (spec.name === "pushgateway") return { http: { address: "127.0.0.1", port: options.hostPorts.pushgateway } };
  return Object.fromEntries(
    spec.ports
      .filter((port) => port.audience === "peers")
      .map((port) => [port.name, { address: "0.0.0.0", port: port.number }]),
  );
}
