import type { Server } from "node:http";
import type { Socket } from "node:net";
import { prependHandler } from "#daemon/http/raw-connections.ts";
import { shareMessageHeads } from "../wire/message-head.ts";
import { Outbox } from "../wire/outbox.ts";
import { createFastResponseHeads, type FastPath } from "./fast-response.ts";
import { FastConnection } from "./fast-connection.ts";
import { computeSweepIntervalMs, type FastConnectionWaits } from "./fast-wait.ts";
import type { RequestContext } from "./listener-context.ts";

/**
 * Installs the fast path in front of a node:http server: the fast path gets every new connection first and passes on those it can't serve.
 * Call this before the server listens. Disposal stops the timeout checks but does not close connections.
 */
export function serveFastConnections(server: Server, waits: FastConnectionWaits, context: RequestContext): Disposable {
  const connections = new Map<Socket, FastConnection>();
  const clock = { nowMs: performance.now() };
  const sweep = setInterval(() => {
    clock.nowMs = performance.now();
    for (const connection of connections.values()) connection.expire(clock.nowMs);
  }, computeSweepIntervalMs(waits));
  sweep.unref();
  prependHandler(server, (behind) => {
    const path: FastPath = {
      context,
      waits,
      heads: createFastResponseHeads(waits.idleTimeoutMs, { ...context, wallClock: Date.now }),
      outbox: new Outbox(),
      keepHead: shareMessageHeads(),
      clock,
      handOver: (socket, unread) => {
        socket.unshift(unread);
        behind(socket);
      },
      closed: (socket) => {
        connections.delete(socket);
        context.connections.serve(socket, undefined);
      },
    };
    return (socket) => {
      const connection = new FastConnection(socket, path);
      connections.set(socket, connection);
      context.connections.serve(socket, connection);
    };
  });
  return { [Symbol.dispose]: () => clearInterval(sweep) };
}
