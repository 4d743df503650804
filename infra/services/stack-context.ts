import { isLoopback } from "#daemon/http/address.ts";
import { listStackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { ServiceName } from "./service-spec.ts";

/** Services that have one host name; the sidecar has several. */
type NamedService = Exclude<ServiceName, "sidecar">;

/** Host names, by service, under which the services in a stack reach each other; the target defines them. */
export type Addresses = Readonly<Record<NamedService, string>> &
  Readonly<{
    nodeOfSidecar: string;
    sidecarStatus: string;
    /** Returns a host name that resolves to all processes of a service, ready or not: the host name for clients may not resolve to unready ones. */
    processesOf: (service: ServiceName) => string;
  }>;

/** Services that a stack publishes on a host: operator ports on loopback, public ports at an address. */
export type Published = Readonly<{
  /** Whether the public ports are also bound to loopback. */
  isPublicLoopback: boolean;
  /** Returns the names by which other containers reach a service. A page in a browser on the host can't use them (DNS rebinding). */
  namesOf: (service: ServiceName) => readonly string[];
}>;

/** How the sidecar restarts the node: through the engine proxy's socket, or through the Kubernetes API. */
export type RestartRoute = Readonly<{
  /** Command prefix for running a program in the sidecar's container, shown in messages to operators. */
  exec: string;
}> &
  (
    | Readonly<{ driver: "docker"; container: string }>
    | Readonly<{ driver: "kubernetes"; strategy: "delete-pod" | "signal"; pod: string }>
  );

/** A deployment target from the services' point of view. */
export type TargetContext = Readonly<{
  addresses: Addresses;
  /** How the services' ports are published on the host; absent if the target publishes none. */
  published?: Published | undefined;
  restart: RestartRoute;
}>;

export type StackContext = TargetContext &
  Readonly<{
    /** Prefix for the stack's resource names, e.g. `gatehouse-dev`, and for the job name of the node's metrics. */
    prefix: string;
    secret: (text: string) => DeploymentSecret;
  }>;

/** Names of the services on both targets: an alias on the private network on Docker, the name of the Service on Kubernetes. */
const ownNames = Object.fromEntries(listStackServices().map((name) => [name, name])) as Record<NamedService, string>;

export const dockerAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "node",
  sidecarStatus: "sidecar",
  processesOf: (service) => service,
};

/** Host names on Kubernetes, where the sidecar runs in the node's pod and has one Service for each kind of client. */
const kubernetesAddresses: Addresses = {
  ...ownNames,
  nodeOfSidecar: "127.0.0.1",
  sidecarStatus: "sidecar-status",
  processesOf: namePodsHost,
};

/** Builds the DNS name that resolves to all pods of a service on Kubernetes. */
export function namePodsHost(service: ServiceName): string {
  return `${service}-pods`;
}

export function describeDockerHost({ prefix, publishAddress }: Readonly<{ prefix: string; publishAddress: string }>) {
  return {
    addresses: dockerAddresses,
    published: {
      isPublicLoopback: isLoopback(publishAddress),
      namesOf: (service) => [service, `${prefix}-${service}`],
    },
    restart: { driver: "docker", container: `${prefix}-node`, exec: `docker exec ${prefix}-sidecar` },
  } as const satisfies TargetContext;
}

/** Name of the node's only pod: StatefulSets number their pods from 0. */
export const nodePod = "node-0";

export function describeKubernetesNamespace({
  namespace,
  nodeRestart: strategy,
}: Pick<StackConfig, "namespace" | "nodeRestart">) {
  const exec = `kubectl exec -n ${namespace} ${nodePod} -c sidecar --`;
  return {
    addresses: kubernetesAddresses,
    restart: { driver: "kubernetes", strategy, pod: nodePod, exec },
  } as const satisfies TargetContext;
}

/** Describes the target of a stack, before any of its resources are registered. */
export function describeTarget(config: StackConfig, prefix: string): TargetContext {
  return config.target === "docker"
    ? describeDockerHost({ prefix, publishAddress: config.publishAddress })
    : describeKubernetesNamespace(config);
}

/** Lists the Host headers, besides addresses and localhost, that a published service's operator listener accepts; absent: any. */
export function listOperatorHosts(
  service: ServiceName,
  published: Published | undefined,
): Readonly<{ allowedHosts?: readonly string[] }> {
  return published === undefined ? {} : { allowedHosts: published.namesOf(service) };
}
