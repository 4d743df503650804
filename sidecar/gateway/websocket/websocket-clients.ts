import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { goneTier, type CallerIdentity } from "../callers/caller.ts";
import { serveClient, type ClientSession, type ClientSessionDependencies } from "./client-session.ts";
import type { TraceContext } from "../observe/trace-context.ts";
import type { ConnectedClient } from "./connected-client.ts";
import { startPingRounds } from "./ping-rounds.ts";

/** Bounds of one listener's WebSocket clients. */
export type WebSocketClientsOptions = Readonly<{
  clients: number;
  callsInFlight: number;
  queueBytes: number;
  pingIntervalMs: number;
}>;

/** Who asks for an upgrade, and as part of which trace. */
export type UpgradeOrigin = Readonly<{ identity: CallerIdentity; traceContext: TraceContext | undefined }>;

/** A listener's WebSocket clients. */
export type WebSocketClients = Disposable &
  Readonly<{
    /** Takes an HTTP upgrade. */
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, from: UpgradeOrigin) => void;
    /** Closes all with 1001, each when its calls under way are answered; settles when all are closed. */
    leave: () => Promise<void>;
    size: () => number;
    subscriptions: () => number;
  }>;

/** Answers an upgrade with an HTTP error. */
export function refuseUpgrade(socket: Duplex, status: string, message: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${message.length + 1}\r\nConnection: close\r\n\r\n${message}\n`,
  );
}

/** Most sizes of message for which a WebSocket server is kept; sizes come from settings. */
const keptServers = 64;

/** Makes the WebSocket side of a listener. Messages are never compressed, so none can grow when it is read. */
export function makeWebSocketClients(
  options: WebSocketClientsOptions,
  dependencies: ClientSessionDependencies,
): WebSocketClients {
  const servers = new Map<number, WebSocketServer>();
  const sessions = new Map<WebSocket, ClientSession>();
  const byCaller = new Map<string, number>();
  const pings = startPingRounds<ClientSession>(options.pingIntervalMs);

  const serverFor = (messageBytes: number): WebSocketServer => {
    const kept = servers.get(messageBytes);
    if (kept !== undefined) return kept;
    if (servers.size >= keptServers) servers.clear();
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: messageBytes,
    });
    servers.set(messageBytes, server);
    return server;
  };
  const accept = (client: ConnectedClient) => {
    const { socket, caller } = client;
    byCaller.set(caller.key, (byCaller.get(caller.key) ?? 0) + 1);
    const session = serveClient(client, options, dependencies);
    sessions.set(socket, session);
    pings.add(session);
    socket.on("close", () => {
      sessions.delete(socket);
      pings.remove(session);
      const left = (byCaller.get(caller.key) ?? 1) - 1;
      if (left === 0) byCaller.delete(caller.key);
      else byCaller.set(caller.key, left);
    });
  };
  return {
    upgrade: (request, socket, head, { identity, traceContext }) => {
      if (identity.kind === "refused") return refuseUpgrade(socket, "401 Unauthorized", identity.message);
      const { caller } = identity;
      const tier = dependencies.policy().tiers.get(caller.tierName) ?? goneTier;
      if (sessions.size >= options.clients) {
        dependencies.limited("clients", caller.tierName);
        return refuseUpgrade(socket, "503 Service Unavailable", "too many clients");
      }
      if ((byCaller.get(caller.key) ?? 0) >= tier.webSockets) {
        dependencies.limited("webSockets", caller.tierName);
        return refuseUpgrade(
          socket,
          "429 Too Many Requests",
          `more than ${tier.webSockets} WebSockets; close one first`,
        );
      }
      const messageBytes = tier.messageBytes ?? dependencies.policy().settings.limits.bodyBytes;
      return serverFor(messageBytes).handleUpgrade(request, socket, head, (webSocket) =>
        accept({ socket: webSocket, connection: socket, caller, traceContext }),
      );
    },
    leave: async () => {
      await Promise.all([...sessions.values()].map((session) => session.leave()));
    },
    size: () => sessions.size,
    subscriptions: () => sessions.values().reduce((sum, session) => sum + session.subscriptions(), 0),
    [Symbol.dispose]: () => {
      pings[Symbol.dispose]();
      for (const socket of sessions.keys()) socket.terminate();
      for (const server of servers.values()) server.close();
    },
  };
}
