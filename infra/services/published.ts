import type { PublishedPort } from "../stack-services.ts";
import type { ServiceName } from "./service-spec.ts";

/** Services that a stack publishes on a host: operator ports on loopback, public ports at an address. */
export type Published = Readonly<{
  /** Whether the public ports are also on loopback. */
  isPublicLoopback: boolean;
  /** Returns the names by which other containers reach a service. A page in a browser on the host can't use them (DNS rebinding). */
  namesOf: (service: ServiceName) => readonly string[];
}>;

/** Lists the Host headers, besides addresses and localhost, that a published service's operator listener accepts; absent: any. */
export function listOperatorHosts(
  service: ServiceName,
  published: Published | undefined,
): Readonly<{ allowedHosts?: readonly string[] }> {
  return published === undefined ? {} : { allowedHosts: published.namesOf(service) };
}

/** Returns the host address at which a port is published. */
export function findPublishedAddress({ at }: Pick<PublishedPort, "at">, publishAddress: string): string {
  return at === "public" ? publishAddress : "127.0.0.1";
}
