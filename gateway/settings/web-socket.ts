import { section } from "#daemon/settings/section.ts";
import { fixed } from "#daemon/settings/fixed.ts";

/** The gateway's WebSockets: connections from its clients, and the one to the node. */
export const webSocketSection = section({
  /** Max WebSocket clients per listener. */
  clients: fixed(10_000),
  /** Max in-flight calls per WebSocket client. */
  callsInFlight: fixed(64),
  /** Max WebSocket message size where the tier sets none, within limits.bodyBytes. */
  messageBytes: fixed(1_048_576),
  /** Unsent bytes (excluding responses) above which a slow WebSocket client is dropped and its calls wait. */
  queueBytes: fixed(4_194_304),
  /** Max distinct subscriptions on the node for all clients. */
  upstreamSubscriptions: fixed(1_024),
  /** Max of these subscriptions created by one caller's clients. */
  upstreamSubscriptionsPerCaller: fixed(128),
  /** Ping interval. */
  pingIntervalMs: fixed(30_000),
  /** Initial delay before reconnecting to the node's WebSocket. */
  reconnectMs: fixed(500),
  /** Max delay between reconnects to the node's WebSocket. */
  reconnectMaxMs: fixed(30_000),
  /** How long a lost node connection may take to recover with missed events sent to subscribers. */
  bridgeMs: fixed(10_000),
  /** Max missed blocks sent to subscribers after a reconnect. */
  bridgeBlocks: fixed(64),
});
