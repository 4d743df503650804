import { listStackServices } from "#daemon/stack-services.ts";
import type { ServiceName } from "./service-spec.ts";

/** Services with one host name; the sidecar has several. */
type NamedService = Exclude<ServiceName, "sidecar">;

/** Host names under which the services of one stack find each other, by service; a target gives them. */
export type Addresses = Readonly<Record<NamedService, string>> &
  Readonly<{
    /** The node, as its sidecar sees it. */
    nodeOfSidecar: string;
    /** The gateway's host, as the other services see it. */
    gateway: string;
    /** The sidecar's listener for operators. */
    sidecarStatus: string;
    /** The processes of a service, ready or not: under the name that clients use, one that is not ready may be out of reach. */
    processesOf: (service: ServiceName) => string;
  }>;

/** Names by which services are found on both targets: on Docker an alias on the private network, on Kubernetes its Service's name. */
const ownNames = Object.fromEntries(listStackServices().map((name) => [name, name])) as Record<NamedService, string>;

export const dockerAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "node",
  gateway: "sidecar",
  sidecarStatus: "sidecar",
  processesOf: (service) => service,
};

/** Host names on Kubernetes, where the sidecar is in the node's own pod and has a Service for each kind of client. */
export const kubernetesAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "127.0.0.1",
  gateway: "gateway",
  sidecarStatus: "sidecar-status",
  processesOf: namePodsHost,
};

/** Builds the DNS name of all pods of a service on Kubernetes. */
export function namePodsHost(service: ServiceName): string {
  return `${service}-pods`;
}
