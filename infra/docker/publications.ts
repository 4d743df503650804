import { listPublishedPorts, type HostPortName } from "#daemon/stack-services.ts";
import { findPublishedAddress } from "../services/published.ts";
import type { PortSpec, ServiceSpec } from "../services/service-spec.ts";
import type { Placement } from "./container-args.ts";

/** Addresses and ports of the host for published ports. */
export type PublishOptions = Readonly<{
  publishAddress: string;
  /** Ports that are absent are not published. */
  hostPorts: Readonly<Partial<Record<HostPortName, number>>>;
}>;

/** Lists the ports of a service that the host publishes: those for the node's peers, and those that its row names. The node's own RPC is published nowhere. */
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

/** Whether a service is reached from outside of the stack, or reaches out. */
export function isReachedOutside(spec: ServiceSpec, options: PublishOptions): boolean {
  const leaves = spec.edges.some((edge) => edge.to === "internet" || edge.to === "host");
  return leaves || Object.keys(listPublications(spec, options)).length > 0;
}
