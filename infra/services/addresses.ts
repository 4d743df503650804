import { listStackServices } from "../stack-services.ts";
import type { ServiceName } from "./service-spec.ts";

/** Services that have one host name; the sidecar has several. */
type NamedService = Exclude<ServiceName, "sidecar">;

/** Host names, by service, under which the services in a stack reach each other; the target defines them. */
export type Addresses = Readonly<Record<NamedService, string>> &
  Readonly<{
    /** Host name under which the sidecar reaches the node. */
    nodeOfSidecar: string;
    /** Host name under which the other services reach the gateway. */
    gateway: string;
    /** Host name of the sidecar's operator listener. */
    sidecarStatus: string;
    /** Returns a host name that resolves to all processes of a service, ready or not: the host name for clients may not resolve to unready ones. */
    processesOf: (service: ServiceName) => string;
  }>;

/** Names of the services on both targets: an alias on the private network on Docker, the name of the Service on Kubernetes. */
const ownNames = Object.fromEntries(listStackServices().map((name) => [name, name])) as Record<NamedService, string>;

export const dockerAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "node",
  gateway: "sidecar",
  sidecarStatus: "sidecar",
  processesOf: (service) => service,
};

/** Host names on Kubernetes, where the sidecar runs in the node's pod and has one Service for each kind of client. */
export const kubernetesAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "127.0.0.1",
  gateway: "gateway",
  sidecarStatus: "sidecar-status",
  processesOf: namePodsHost,
};

/** Builds the DNS name that resolves to all pods of a service on Kubernetes. */
export function namePodsHost(service: ServiceName): string {
  return `${service}-pods`;
}
