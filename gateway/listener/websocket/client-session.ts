import type { RawData } from "ws";
import { fallbackTier } from "../../callers/caller.ts";
import type { MessageHandler } from "../../calls/message-handler.ts";
import type { Meter } from "../../observe/meter.ts";
import type { PolicySource } from "../../policy/policy.ts";
import type { SharedTurns } from "../../wire/shared-turns.ts";
import { answerPings } from "./answered-pings.ts";
import { createClientCalls } from "./client-calls.ts";
import { createClientInbox } from "./client-inbox.ts";
import { watchLiveness } from "./client-liveness.ts";
import { createClientSender } from "./client-sender.ts";
import { createClientSubscriptions } from "./client-subscriptions.ts";
import type { ConnectedClient } from "./connected-client.ts";
import { createGracefulClose } from "./graceful-close.ts";
import { holdPartialMessages } from "./partial-messages.ts";
import type { SubscriptionHub } from "../../notifications/subscription-hub.ts";

/** Bounds of one WebSocket client. */
export type ClientSessionOptions = Readonly<{ callsInFlight: number; queueBytes: number }>;

/** What serving a WebSocket client takes. */
export type ClientSessionDependencies = Readonly<{
  policy: PolicySource;
  handle: MessageHandler;
  turns: SharedTurns;
  hub: SubscriptionHub;
  /** The client was dropped, and why. */
  dropped: (reason: "slow" | "lost" | "silent" | "withdrawn") => void;
  limited: Meter["limited"];
}>;

/** A WebSocket client being served. */
export type ClientSession = Readonly<{
  subscriptions: () => number;
  /** Asks whether the client is alive; drops it when the last question had no answer. */
  ping: () => void;
  /** Answers what is under way, then closes with 1001; settles when that is done. */
  leave: () => Promise<void>;
}>;

/** Close code of a server that comes back (IANA's registry of WebSocket close codes). */
const serviceRestart = 1012;

/** Serves a WebSocket: messages like HTTP bodies, and subscriptions. Ends when the socket closes. */
export function serveClient(
  client: ConnectedClient,
  { callsInFlight, queueBytes }: ClientSessionOptions,
  { policy, handle, turns, hub, dropped, limited }: ClientSessionDependencies,
): ClientSession {
  const { socket, connection, caller, memory } = client;
  const sender = createClientSender(
    client,
    { queueBytes, answerBytes: () => policy().settings.limits.batchResponseBytes },
    { memory, droppedAsSlow: () => dropped("slow") },
  );
  const { send, unsentBytes } = sender;
  const departure = createGracefulClose(socket, sender.afterAll);
  const liveness = watchLiveness(socket, { unsentBytes, droppedAsSilent: () => dropped("silent") });
  const partial = holdPartialMessages(client);
  const subscriptions = createClientSubscriptions({
    caller: caller.key,
    hub,
    send: sender.sendNews,
    limit: () => (policy().tiers.get(caller.tierName) ?? fallbackTier).subscriptions,
    limited: () => limited("subscriptions", caller.tierName),
    lost: () => {
      dropped("lost");
      socket.close(serviceRestart, "the node's connection was lost; subscribe again");
    },
  });
  const goOn = () => {
    if (!departure.hasBegun()) inbox.goOn();
  };
  const answered = () => {
    departure.left(calls.underWay());
    goOn();
  };
  const calls = createClientCalls(client, { policy, handle, subscriptions, send, answered });
  const mayTake = () => calls.underWay() < callsInFlight && unsentBytes() <= queueBytes;
  const inbox = createClientInbox({
    socket,
    mayTake,
    take: calls.take,
    turns,
    caller: caller.key,
    isLeaving: departure.hasBegun,
  });
  socket.on("message", (data: RawData) => {
    partial.whole();
    if (!departure.hasBegun()) inbox.received(asBuffer(data));
  });
  connection.on("drain", () => {
    sender.drained();
    goOn();
  });
  socket.on("pong", liveness.heard);
  answerPings(socket);
  // Followed by "close".
  socket.on("error", () => socket.terminate());
  socket.on("close", () => {
    subscriptions[Symbol.dispose]();
    calls[Symbol.dispose]();
    departure.gone();
    memory[Symbol.dispose]();
  });
  return {
    subscriptions: subscriptions.size,
    ping: liveness.ping,
    leave: () => {
      departure.begin(calls.underWay());
      return departure.done;
    },
  };
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
