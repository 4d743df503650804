import { listStackServices } from "#daemon/stack-services.ts";
import type { ServiceName } from "./service-spec.ts";

/** Services with one host name; the sidecar has several. */
type NamedService = Exclude<ServiceName, "sidecar">;

/** Host names by which the services of a stack reach each other, by service; the target defines them. */
export type Addresses = Readonly<Record<NamedService, string>> &
  Readonly<{
    /** Host name of the node for its sidecar. */
    nodeOfSidecar: string;
    /** Host name of the gateway for the other services. */
    gateway: string;
    /** The sidecar's operator listener. */
    sidecarStatus: string;
    /** All processes of a service, ready or not: the host name for clients may not resolve to unready ones. */
    processesOf: (service: ServiceName) => string;
  }>;

/** Names of the services on both targets: on Docker an alias on the private network, on Kubernetes the Service's name. */
const ownNames = Object.fromEntries(listStackServices().map((name) => [name, name])) as Record<NamedService, string>;

export const dockerAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "node",
  gateway: "sidecar",
  sidecarStatus: "sidecar",
  processesOf: (service) => service,
};

/** Host names on Kubernetes, where the sidecar runs in the node's pod and has a Service for each kind of client. */
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
