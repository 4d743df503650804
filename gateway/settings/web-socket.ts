import { bytes, milliseconds, nonNegativeInteger, positiveInteger } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** The gateway's WebSockets: connections from its clients, and the one to the node. */
export const webSocketSection = section({
  clients: positiveInteger.default(10_000).describe("Max WebSocket clients per listener"),
  callsInFlight: positiveInteger.default(64).describe("Max in-flight calls per WebSocket client"),
  messageBytes: bytes
    .max(268_435_456)
    .default(1_048_576)
    .describe(
      "Max WebSocket message size where the tier sets none, within limits.bodyBytes; only one is unmasked at a time",
    ),
  queueBytes: bytes
    .default(4_194_304)
    .describe("Unsent bytes (excluding responses) above which a slow WebSocket client is dropped and its calls wait"),
  upstreamSubscriptions: positiveInteger
    .default(1_024)
    .describe("Max distinct subscriptions on the node for all clients; identical subscriptions count once"),
  upstreamSubscriptionsPerCaller: positiveInteger
    .default(128)
    .describe("Max of these subscriptions created by one caller's clients"),
  pingIntervalMs: milliseconds.default(30_000).describe("Ping interval; clients that miss a ping are dropped"),
  reconnectMs: milliseconds
    .default(500)
    .describe("Initial delay before reconnecting to the node's WebSocket; doubled after each failure"),
  reconnectMaxMs: milliseconds.default(30_000).describe("Max delay between reconnects to the node's WebSocket"),
  bridgeMs: nonNegativeInteger
    .max(600_000)
    .default(10_000)
    .describe("How long a lost node connection may take to recover with missed events sent to subscribers; 0: never"),
  bridgeBlocks: positiveInteger
    .max(1_000)
    .default(64)
    .describe("Max missed blocks sent to subscribers after a reconnect; beyond it their connections are closed"),
});
