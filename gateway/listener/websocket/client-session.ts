import type { RawData, WebSocket } from "ws";
import { findTier } from "../../policy.ts";
import type { ListenerContext } from "../listener-context.ts";
import { respondToPings, watchLiveness } from "./client-liveness.ts";
import { createClientCalls } from "./client-calls.ts";
import { createClientInbox, countPartialMessages } from "./client-inbox.ts";
import { createClientSender } from "./client-sender.ts";
import { createClientSubscriptions } from "./client-subscriptions.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Limits on one WebSocket client. */
export type ClientSessionOptions = Readonly<{ callsInFlight: number; queueBytes: number }>;

/** A WebSocket client being served. */
export type ClientSession = Readonly<{
  subscriptions: () => number;
  /** Pings the client, or drops it if it did not respond to the last ping. */
  ping: () => void;
  /** Finishes the in-flight calls, then closes with 1001; settles when the client is closed. */
  leave: () => Promise<void>;
}>;

/** Close code of a server that restarts (IANA WebSocket close code registry). */
const serviceRestart = 1012;

/** Serves a WebSocket: its messages, in the same way as HTTP bodies, and its subscriptions. Ends when the socket closes. */
export function serveClient(
  client: ConnectedClient,
  { callsInFlight, queueBytes }: ClientSessionOptions,
  { policy, handle, turns, hub, dropped, limited }: ListenerContext,
): ClientSession {
  const { socket, connection, caller, memory } = client;
  const sender = createClientSender(
    client,
    { queueBytes, answerBytes: () => policy().settings.limits.batchResponseBytes },
    { memory, droppedAsSlow: () => dropped("slow") },
  );
  const { send, unsentBytes } = sender;
  const gracefulClose = createGracefulClose(socket, sender.afterAll);
  const liveness = watchLiveness(socket, { unsentBytes, droppedAsSilent: () => dropped("silent") });
  const partial = countPartialMessages(client);
  const subscriptions = createClientSubscriptions({
    caller: caller.key,
    hub,
    send: sender.sendNotification,
    limit: () => findTier(policy(), caller).subscriptions,
    limited: () => limited("subscriptions", caller.tierName),
    lost: () => {
      dropped("lost");
      socket.close(serviceRestart, "the node's connection was lost; subscribe again");
    },
  });
  const goOn = () => {
    if (!gracefulClose.hasBegun()) inbox.resume();
  };
  const answered = () => {
    gracefulClose.left(calls.underWay());
    goOn();
  };
  const calls = createClientCalls(client, { policy, handle, subscriptions, send, answered });
  const mayHandle = () => calls.underWay() < callsInFlight && unsentBytes() <= queueBytes;
  const inbox = createClientInbox({
    socket,
    mayHandle,
    handle: calls.handle,
    turns,
    caller: caller.key,
    isLeaving: gracefulClose.hasBegun,
  });
  socket.on("message", (data: RawData) => {
    partial.whole();
    if (!gracefulClose.hasBegun()) inbox.received(asBuffer(data));
  });
  connection.on("drain", () => {
    sender.drained();
    goOn();
  });
  socket.on("pong", liveness.heard);
  respondToPings(socket);
  // A "close" event follows.
  socket.on("error", () => socket.terminate());
  socket.on("close", () => {
    subscriptions[Symbol.dispose]();
    calls[Symbol.dispose]();
    gracefulClose.gone();
    memory[Symbol.dispose]();
  });
  return {
    subscriptions: subscriptions.size,
    ping: liveness.ping,
    leave: () => {
      gracefulClose.begin(calls.underWay());
      return gracefulClose.done;
    },
  };
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** Close code of a server that stops (RFC 6455, section 7.4.1). */
const goingAway = 1001;

/** Closes a client when the gateway stops, after the client's in-flight calls have been answered. */
export type GracefulClose = Readonly<{
  hasBegun: () => boolean;
  /** Stops reading from the client, and closes it once no call is in flight. */
  begin: (callsUnderWay: number) => void;
  /** Reports how many calls are still in flight. */
  left: (callsUnderWay: number) => void;
  /** Records that the client has disconnected by itself. */
  gone: () => void;
  /** Settles when the client is closed or has disconnected. */
  done: Promise<void>;
}>;

/** Creates the graceful close of one client; `afterAll` runs a callback once all data for the client has been written. */
function createGracefulClose(socket: WebSocket, afterAll: (run: () => void) => void): GracefulClose {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  const left = (callsUnderWay: number) => {
    if (!hasBegun || callsUnderWay > 0) return;
    // The client's close frame still has to be read.
    socket.resume();
    afterAll(() => {
      socket.close(goingAway, "going away");
      resolve();
    });
  };
  return {
    hasBegun: () => hasBegun,
    begin: (callsUnderWay) => {
      hasBegun = true;
      socket.pause();
      left(callsUnderWay);
    },
    left,
    gone: resolve,
    done: promise,
  };
}
