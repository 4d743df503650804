import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Identify } from "../callers/identify.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import type { PolicySource } from "../policy/policy.ts";
import { makeFastAnswerHeads } from "./fast-answer.ts";
import { FastConnection } from "./fast-connection.ts";

/** What the fast path answers with. */
export type FastPathDependencies = Readonly<{
  policy: PolicySource;
  identify: Identify;
  handle: MessageHandler;
  isAllowedHost: (host: string) => boolean;
  isDraining: () => boolean;
}>;

/**
 * Puts the fast path in front of a node:http server: it gets every new connection first, and the server what the fast path
 * gives up. Call it before the server listens.
 */
export function serveFastConnections(
  server: Server,
  { idleTimeoutMs }: Readonly<{ idleTimeoutMs: number }>,
  { policy, identify, handle, isAllowedHost, isDraining }: FastPathDependencies,
): Readonly<{ closeIdle: () => void }> {
  const connections = new Set<FastConnection>();
  const byServer = server.listeners("connection");
  server.removeAllListeners("connection");
  const dependencies = {
    heads: makeFastAnswerHeads(idleTimeoutMs, Date.now),
    identify,
    handle,
    bodyBytes: () => policy().settings.limits.bodyBytes,
    isAllowedHost,
    isDraining,
    idleTimeoutMs,
    handOver: (socket: Socket, unread: Buffer) => {
      socket.unshift(unread);
      for (const listener of byServer) Reflect.apply(listener, server, [socket]);
    },
    closed: (connection: FastConnection) => connections.delete(connection),
  };
  server.on("connection", (socket: Socket) => {
    connections.add(new FastConnection(socket, dependencies));
  });
  return {
    closeIdle: () => {
      for (const connection of connections) connection.closeIfIdle();
    },
  };
}
