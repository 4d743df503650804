import type { ServiceName } from "./service-spec.ts";

/** The host names under which the services of one stack find each other; a target gives them. */
export type Addresses = Readonly<{
  /** The node, as its sidecar sees it. */
  nodeOfSidecar: string;
  /** The node, as the facilitator sees it. */
  node: string;
  /** The gateway's host, as the other services see it. */
  gateway: string;
  /** The sidecar's listener for operators. */
  sidecarStatus: string;
  pushgateway: string;
  facilitator: string;
  resourceServer: string;
  upstream: string;
  postgres: string;
  prometheus: string;
  alertmanager: string;
  /** The processes of a service, ready or not: under the name that clients use, one that is not ready may be out of reach. */
  processesOf: (service: ServiceName) => string;
}>;

/** On Docker every service is an alias of its name on the private network. */
export const dockerAddresses: Addresses = {
  nodeOfSidecar: "node",
  node: "node",
  gateway: "sidecar",
  sidecarStatus: "sidecar",
  pushgateway: "pushgateway",
  facilitator: "facilitator",
  resourceServer: "resource-server",
  upstream: "upstream",
  postgres: "postgres",
  prometheus: "prometheus",
  alertmanager: "alertmanager",
  processesOf: (service) => service,
};

/** On Kubernetes a service is found by its Service's name; the sidecar stands in the node's own pod. */
export const kubernetesAddresses: Addresses = {
  nodeOfSidecar: "127.0.0.1",
  node: "node",
  gateway: "gateway",
  sidecarStatus: "sidecar-status",
  pushgateway: "pushgateway",
  facilitator: "facilitator",
  resourceServer: "resource-server",
  upstream: "upstream",
  postgres: "postgres",
  prometheus: "prometheus",
  alertmanager: "alertmanager",
  processesOf: namePodsHost,
};

/** The name, as DNS has it, of all pods of a service on Kubernetes. */
export function namePodsHost(service: ServiceName): string {
  return `${service}-pods`;
}
