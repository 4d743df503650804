import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { goneTier, type CallerIdentity } from "../callers/caller.ts";
import { serveClient, type ClientSession, type ClientSessionDependencies } from "./client-session.ts";
import type { TraceContext } from "../observe/trace-context.ts";
import type { ConnectedClient } from "./connected-client.ts";
import { credentialCheck, type IdentifyAgain } from "./credential-check.ts";
import { startPingRounds } from "./ping-rounds.ts";
import { sizedServers } from "./sized-servers.ts";

/** Bounds of one listener's WebSocket clients. */
export type WebSocketClientsOptions = Readonly<{
  clients: number;
  callsInFlight: number;
  queueBytes: number;
  pingIntervalMs: number;
  /** Time between two looks whether a client's key or token is still good; absent where clients have neither. */
  recheckMs?: number;
}>;

/** Who asks for an upgrade, and as part of which trace. */
export type UpgradeOrigin = Readonly<{
  identity: CallerIdentity;
  traceContext: TraceContext | undefined;
  identifyAgain: IdentifyAgain;
}>;

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

/** Makes the WebSocket side of a listener. */
export function makeWebSocketClients(
  options: WebSocketClientsOptions,
  dependencies: ClientSessionDependencies,
): WebSocketClients {
  const servers = sizedServers();
  const sessions = new Map<WebSocket, ClientSession>();
  const byCaller = new Map<string, number>();
  const pings = startPingRounds<ClientSession>(options.pingIntervalMs);
  const checks = options.recheckMs === undefined ? undefined : startPingRounds(options.recheckMs);

  const accept = (client: ConnectedClient, identifyAgain: IdentifyAgain) => {
    const { socket, caller } = client;
    byCaller.set(caller.key, (byCaller.get(caller.key) ?? 0) + 1);
    const session = serveClient(client, options, dependencies);
    sessions.set(socket, session);
    pings.add(session);
    const check = credentialCheck(client, identifyAgain, () => dependencies.dropped("withdrawn"));
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
    upgrade: (request, socket, head, { identity, traceContext, identifyAgain }) => {
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
      return servers
        .serverFor(messageBytes)
        .handleUpgrade(request, socket, head, (webSocket) =>
          accept({ socket: webSocket, connection: socket, caller, traceContext }, identifyAgain),
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
