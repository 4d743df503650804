import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { Caller, CallerIdentity } from "../../callers/identify.ts";
import { toRequestInfo } from "../../callers/request-facts.ts";
import { findTier } from "../../policy.ts";
import { httpErrors, rejectCredential, rejectUpgrade, tooManyWebSockets } from "../http-errors.ts";
import type { ListenerContext } from "../listener-context.ts";
import { closeSoon, type ConnectedClient } from "./client-sender.ts";
import { ClientSession, type ClientLimits } from "./client-session.ts";

export type WebSocketClientsOptions = ClientLimits &
  Readonly<{
    clients: number;
    /** Max message size for a client whose tier specifies none. */
    messageBytes: number;
    /** Interval between checks of a client's key or token; absent if clients have neither. */
    recheckMs?: number;
  }>;

export type WebSocketClients = Disposable &
  Readonly<{
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
    /** Closes each client with 1001 once its in-flight calls are answered; settles when all are closed. */
    leave: () => Promise<void>;
    size: () => number;
    subscriptions: () => number;
  }>;

export function createWebSocketClients(options: WebSocketClientsOptions, context: ListenerContext): WebSocketClients {
  const servers = new Map<number, WebSocketServer>();
  const sessions = new Map<WebSocket, ClientSession>();
  const byCaller = new Map<string, number>();

  const findRejection = (caller: Caller) => {
    const { webSockets } = findTier(context.policy(), caller);
    if (sessions.size >= options.clients) return { limit: "clients", error: httpErrors.tooManyClients } as const;
    if ((byCaller.get(caller.key) ?? 0) < webSockets) return undefined;
    return { limit: "webSockets", error: tooManyWebSockets(webSockets) } as const;
  };
  const accept = (client: ConnectedClient, reidentify: Reidentify) => {
    const { socket, connection, caller } = client;
    byCaller.set(caller.key, (byCaller.get(caller.key) ?? 0) + 1);
    sessions.set(socket, new ClientSession(client, options, context));
    context.connections.cutBy(connection, () => {
      context.dropped("slow");
      socket.terminate();
    });
    const check = () => void checkCredential(client, reidentify, context);
    const checks = options.recheckMs === undefined ? undefined : setInterval(check, options.recheckMs).unref();
    socket.on("close", () => {
      clearInterval(checks);
      sessions.delete(socket);
      const left = (byCaller.get(caller.key) ?? 1) - 1;
      if (left === 0) byCaller.delete(caller.key);
      else byCaller.set(caller.key, left);
    });
  };
  const findServer = (caller: Caller): WebSocketServer => {
    const { bodyBytes } = context.policy().settings.limits;
    const messageBytes = findTier(context.policy(), caller).messageBytes ?? Math.min(bodyBytes, options.messageBytes);
    // The settings, and with them the size, may change any number of times.
    if (servers.size > serversMax) servers.clear();
    const server = servers.get(messageBytes) ?? createServer(messageBytes);
    servers.set(messageBytes, server);
    return server;
  };
  return {
    upgrade: async (request, socket, head) => {
      const facts = toRequestInfo(request);
      const identify = () => context.identify(facts);
      const identity = await identify();
      if (identity.kind === "rejected") return rejectUpgrade(request, rejectCredential(identity));
      const { caller } = identity;
      const rejection = findRejection(caller);
      if (rejection !== undefined) {
        context.limited(rejection.limit, caller.tierName);
        return rejectUpgrade(request, rejection.error);
      }
      const connection = request.socket;
      const address = context.addressOf(facts);
      const memory = new ConnectionMemory(context.memory, { address: () => address, cut: () => connection.destroy() });
      const { traceContext } = facts;
      return findServer(caller).handleUpgrade(request, socket, head, (webSocket) =>
        accept({ socket: webSocket, connection, caller, memory, traceContext }, identify),
      );
    },
    leave: async () => {
      await Promise.all([...sessions.values()].map((session) => session.leave()));
    },
    size: () => sessions.size,
    subscriptions: () => sessions.values().reduce((sum, session) => sum + session.subscriptions, 0),
    [Symbol.dispose]: () => {
      for (const socket of sessions.keys()) socket.terminate();
      for (const server of servers.values()) server.close();
    },
  };
}

/** Max number of message sizes for which a WebSocket server is cached. */
const serversMax = 64;
/** Max frames in one message; browsers and libraries send one frame, or one per 16 KiB or more. */
const maxFragments = 1_024;

/** Creates the server for clients with this max message size. Messages are never compressed, so none can grow when read; sessions answer pings. */
function createServer(maxPayload: number): WebSocketServer {
  const fixed = { noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false } as const;
  return new WebSocketServer({ ...fixed, maxPayload, maxFragments });
}

type Reidentify = () => CallerIdentity | Promise<CallerIdentity>;

/** Close code for a policy violation (RFC 6455, section 7.4.1). */
const policyViolation = 1008;

/** Closes a client whose key or token was revoked, has expired or has changed tier. Its subscriptions end with the credential. */
async function checkCredential(
  { socket, caller }: ConnectedClient,
  reidentify: Reidentify,
  { dropped }: ListenerContext,
): Promise<void> {
  const identity = await reidentify();
  // The credential could not be checked: the next check decides.
  if (identity.kind === "rejected" && identity.retryAfterSeconds !== undefined) return;
  const isSame =
    identity.kind === "caller" && identity.caller.key === caller.key && identity.caller.tierName === caller.tierName;
  if (isSame || socket.readyState !== socket.OPEN) return;
  dropped("withdrawn");
  closeSoon(socket, policyViolation, "the key or token is no longer valid or has another tier; reconnect");
}
