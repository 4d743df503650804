import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Caller, CallerIdentity } from "../../callers/caller.ts";
import { httpErrors, rejectCredential, rejectUpgrade, tooManyWebSockets } from "../http-errors.ts";
import type { ListenerContext } from "../listener-context.ts";
import { findTier } from "../../policy.ts";
import type { Tier } from "../../settings/policy.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import { serveClient, type ClientSession } from "./client-session.ts";
import type { ConnectedClient } from "./connected-client.ts";
import { startPingRounds } from "./client-liveness.ts";

/** Limits on one listener's WebSocket clients. */
export type WebSocketClientsOptions = Readonly<{
  clients: number;
  callsInFlight: number;
  queueBytes: number;
  /** Max message size for a client whose tier specifies none. */
  messageBytes: number;
  pingIntervalMs: number;
  /** Interval between checks of a client's key or token; absent if clients have neither. */
  recheckMs?: number;
}>;

/** Identity and trace of the client that requests an upgrade. */
export type UpgradeOrigin = Readonly<{
  identity: CallerIdentity;
  /** Address against which the client's memory is counted. */
  address: string;
  traceContext: TraceContext | undefined;
  identifyAgain: IdentifyAgain;
}>;

export type WebSocketClients = Disposable &
  Readonly<{
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, from: UpgradeOrigin) => void;
    /** Closes each client with 1001 once its in-flight calls are answered; settles when all are closed. */
    leave: () => Promise<void>;
    size: () => number;
    subscriptions: () => number;
  }>;

function dropAsSlow({ socket }: ConnectedClient, dropped: ListenerContext["dropped"]): void {
  dropped("slow");
  socket.terminate();
}

/** Creates the WebSocket side of a listener. */
export function createWebSocketClients(options: WebSocketClientsOptions, context: ListenerContext): WebSocketClients {
  const servers = createSizedServers();
  const sessions = new Map<WebSocket, ClientSession>();
  const byCaller = new Map<string, number>();
  const pings = startPingRounds<ClientSession>(options.pingIntervalMs);
  const checks = options.recheckMs === undefined ? undefined : startPingRounds(options.recheckMs);

  const findRefusal = ({ key }: Caller, { webSockets }: Tier) => {
    if (sessions.size >= options.clients) {
      return { limit: "clients", error: httpErrors.tooManyClients } as const;
    }
    if ((byCaller.get(key) ?? 0) < webSockets) return undefined;
    return { limit: "webSockets", error: tooManyWebSockets(webSockets) } as const;
  };
  const accept = (client: ConnectedClient, identifyAgain: IdentifyAgain) => {
    const { socket, connection, caller } = client;
    byCaller.set(caller.key, (byCaller.get(caller.key) ?? 0) + 1);
    const session = serveClient(client, options, context);
    sessions.set(socket, session);
    context.connections.cutBy(connection, () => dropAsSlow(client, context.dropped));
    pings.add(session);
    const check = createCredentialCheck(client, identifyAgain, () => context.dropped("withdrawn"));
    checks?.add(check);
    socket.on("close", () => {
      sessions.delete(socket);
      pings.remove(session);
      checks?.remove(check);
      const left = (byCaller.get(caller.key) ?? 1) - 1;
      if (left === 0) byCaller.delete(caller.key);
      else byCaller.set(caller.key, left);
    });
  };
  return {
    upgrade: (request, socket, head, { identity, address, traceContext, identifyAgain }) => {
      if (identity.kind === "refused") return rejectUpgrade(request, rejectCredential(identity));
      const { caller } = identity;
      const tier = findTier(context.policy(), caller);
      const refusal = findRefusal(caller, tier);
      if (refusal !== undefined) {
        context.limited(refusal.limit, caller.tierName);
        return rejectUpgrade(request, refusal.error);
      }
      const connection = request.socket;
      const cut = () => connection.destroy();
      const memory = new ConnectionMemory(context.memory, { address: () => address, cut });
      const { bodyBytes } = context.policy().settings.limits;
      const messageBytes = tier.messageBytes ?? Math.min(bodyBytes, options.messageBytes);
      return servers
        .serverFor(messageBytes)
        .handleUpgrade(request, socket, head, (webSocket) =>
          accept({ socket: webSocket, connection, caller, memory, traceContext }, identifyAgain),
        );
    },
    leave: async () => {
      await Promise.all([...sessions.values()].map((session) => session.leave()));
    },
    size: () => sessions.size,
    subscriptions: () => sessions.values().reduce((sum, session) => sum + session.subscriptions(), 0),
    [Symbol.dispose]: () => {
      pings[Symbol.dispose]();
      checks?.[Symbol.dispose]();
      for (const socket of sessions.keys()) socket.terminate();
      servers[Symbol.dispose]();
    },
  };
}

/** Max number of message sizes for which a WebSocket server is cached; the sizes come from settings. */
const keptServers = 64;

/** Max frames in one message; browsers and libraries send one frame, or one per 16 KiB or more. */
const maxFragments = 1_024;

/** WebSocket servers by max message size of their clients. */
export type ServersBySize = Disposable & Readonly<{ serverFor: (messageBytes: number) => WebSocketServer }>;

/** Creates servers on demand, one for each size. Messages are never compressed, so none can grow when read; the session answers pings. */
function createSizedServers(): ServersBySize {
  const servers = new Map<number, WebSocketServer>();
  return {
    serverFor: (messageBytes) => {
      const kept = servers.get(messageBytes);
      if (kept !== undefined) return kept;
      if (servers.size >= keptServers) servers.clear();
      const server = new WebSocketServer({
        noServer: true,
        clientTracking: false,
        perMessageDeflate: false,
        maxPayload: messageBytes,
        maxFragments,
        autoPong: false,
      });
      servers.set(messageBytes, server);
      return server;
    },
    [Symbol.dispose]: () => {
      for (const server of servers.values()) server.close();
    },
  };
}

/** Identifies the holder of a client's key or token again. */
export type IdentifyAgain = () => CallerIdentity | Promise<CallerIdentity>;

/** Close code for a policy violation (RFC 6455, section 7.4.1). */
const policyViolation = 1008;
/** Timeout for the client's close frame; until then, the client is served no other data. */
const goneWithinMs = 1_000;

/**
 * Creates the check for whether a connected client still has its original identity. A client whose key or token was revoked, has expired or
 * has changed tier is closed with 1008: it can reconnect with a valid credential, and its subscriptions end with the credential that
 * allowed them.
 */
export function createCredentialCheck(
  { socket, caller }: Pick<ConnectedClient, "socket" | "caller">,
  identifyAgain: IdentifyAgain,
  withdrawn: () => void,
): Readonly<{ ping: () => void }> {
  const judge = (identity: CallerIdentity) => {
    // The credential could not be checked: the next ping checks it again.
    if (identity.kind === "refused" && identity.retryAfterSeconds !== undefined) return;
    const isSame =
      identity.kind === "caller" && identity.caller.key === caller.key && identity.caller.tierName === caller.tierName;
    if (isSame || socket.readyState !== socket.OPEN) return;
    withdrawn();
    socket.close(policyViolation, "the key or token is no longer valid or has another tier; reconnect");
    setTimeout(() => socket.terminate(), goneWithinMs).unref();
  };
  return {
    ping: () => {
      const identity = identifyAgain();
      if (identity instanceof Promise) void identity.then(judge);
      else judge(identity);
    },
  };
}
