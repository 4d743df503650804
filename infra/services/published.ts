import type { PublishedPort } from "#daemon/stack-services.ts";
import type { ServiceName } from "./service-spec.ts";

/** A host's publication of the services of a stack: operators' ports on loopback, the public ones at an address. */
export type Published = Readonly<{
  /** Whether the public ports are on loopback, too. */
  isPublicLoopback: boolean;
  /** Names by which containers next to a service reach it. A page in a browser on the host can use none of them (DNS rebinding). */
  namesOf: (service: ServiceName) => readonly string[];
}>;

/** Lists the Host headers that the operators' listener of a published service takes besides addresses and localhost; absent: any. */
export function listOperatorHosts(
  service: ServiceName,
  published: Published | undefined,
): Readonly<{ allowedHosts?: readonly string[] }> {
  return published === undefined ? {} : { allowedHosts: published.namesOf(service) };
}

/** Finds the address of a host at which a port is published. */
export function findPublishedAddress({ at }: Pick<PublishedPort, "at">, publishAddress: string): string {
  return at === "public" ? publishAddress : "127.0.0.1";
}
