import { listPublishedPorts, type HostPortName } from "../stack-services.ts";
import { findPublishedAddress } from "../services/host-ports.ts";
import type { PortSpec, ServiceSpec } from "../services/service-spec.ts";
import type { Placement } from "./container-args.ts";

export type PublishOptions = Readonly<{
  publishAddress: string;
  /** Host ports by name; ports that are absent are not published. */
  hostPorts: Readonly<Partial<Record<HostPortName, number>>>;
}>;

/**
 * Lists the ports of a service that the host publishes: the ports for the node's peers, and those in the service's row. The node's own RPC
 * is never published.
 */
export function listPublications(spec: ServiceSpec, options: PublishOptions): Placement["published"] {
  return Object.fromEntries(
    spec.ports.flatMap((port) => {
      const found = findPublication(spec, port, options);
      return found === undefined ? [] : [[port.name, found]];
    }),
  );
}

function findPublication(
  { name }: ServiceSpec,
  port: PortSpec,
  { publishAddress, hostPorts }: PublishOptions,
): Placement["published"][string] | undefined {
  if (port.audience === "peers") return { address: "0.0.0.0", port: port.number };
  const published = listPublishedPorts().find((one) => one.service === name && one.port === port.name);
  const number = published && hostPorts[published.as];
  if (published === undefined || number === undefined) return undefined;
  return { address: findPublishedAddress(published, publishAddress), port: number };
}

/** Whether a service accepts connections from outside the stack, or opens connections to the outside. */
export function isReachableFromOutside(spec: ServiceSpec, options: PublishOptions): boolean {
  const leaves = spec.edges.some((edge) => edge.to === "internet" || edge.to === "host");
  return leaves || Object.keys(listPublications(spec, options)).length > 0;
}
