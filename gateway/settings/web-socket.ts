import { bytes, milliseconds, nonNegativeInteger, positiveInteger } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** The gateway's WebSockets: those of its clients, and the one to the node. */
export const webSocketSection = section({
  clients: positiveInteger.default(10_000).describe("Most WebSocket clients of one listener"),
  callsInFlight: positiveInteger.default(64).describe("Calls of one WebSocket client that may be under way"),
  messageBytes: bytes
    .max(268_435_456)
    .default(1_048_576)
    .describe("Largest WebSocket message where the tier names none, within limits.bodyBytes; one is unmasked at once"),
  queueBytes: bytes
    .default(4_194_304)
    .describe("Unsent bytes, besides answers, from which a slow WebSocket client is dropped, and its calls wait"),
  upstreamSubscriptions: positiveInteger
    .default(1_024)
    .describe("Different subscriptions of all clients that the node has; equal ones are one"),
  upstreamSubscriptionsPerCaller: positiveInteger
    .default(128)
    .describe("Of those, how many the clients of one caller may have begun"),
  pingIntervalMs: milliseconds.default(30_000).describe("Time between two pings; a client that misses one is dropped"),
  reconnectMs: milliseconds
    .default(500)
    .describe("Time to the second attempt to reach the node's WebSocket; doubled with each that fails"),
  reconnectMaxMs: milliseconds
    .default(30_000)
    .describe("Longest time between two attempts to reach the node's WebSocket"),
  bridgeMs: nonNegativeInteger
    .max(600_000)
    .default(10_000)
    .describe(
      "Time in which a lost connection to the node may come back and subscribers be sent what they missed; 0: never",
    ),
  bridgeBlocks: positiveInteger
    .max(1_000)
    .default(64)
    .describe("Most blocks that subscribers are sent after the connection came back; beyond them they are closed"),
});
