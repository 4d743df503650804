import { positiveInteger } from "../../settings/types.ts";

/** What a service is told of its clients' connections, for a section of its settings. */
export const connectionSettings = {
  connections: positiveInteger
    .default(20_000)
    .describe("Most open connections of one listener; file descriptors may allow fewer"),
  connectionsPerAddress: positiveInteger
    .default(1_024)
    .describe(
      "Most open connections of one address, IPv6 by /64, and never more than half of all; those of trusted proxies are not counted",
    ),
  newConnectionsPerAddress: positiveInteger
    .default(300)
    .describe(
      "New connections of one address a second, IPv6 by /64, after as many at once as it may have open; more are closed unanswered. Those of trusted proxies are not counted",
    ),
  descriptorReserve: positiveInteger
    .default(192)
    .describe(
      "File descriptors that clients' connections leave to the rest of the process; under a low limit three quarters of it",
    ),
} as const;

/** The bounds of a service's connections, as settings tell of them. */
export type ConnectionSettings = Readonly<{
  connections: number;
  connectionsPerAddress: number;
  newConnectionsPerAddress: number;
  descriptorReserve: number;
}>;
