import type { Server } from "node:http";
import { prependHandler, pushBackBytes } from "#daemon/http/raw-connections.ts";
import { shareMessageHeads } from "../wire/message-head.ts";
import { Outbox } from "../wire/outbox.ts";
import { FastConnection } from "./fast-connection.ts";
import { createFastResponseHeads, type FastPath } from "./fast-response.ts";
import type { RequestContext } from "./listener-context.ts";

/** Passes a server's new connections to the fast path, which hands over those that it can't serve. Call this before the server listens. */
export function serveFastConnections(server: Server, idleTimeoutMs: number, context: RequestContext): void {
  const { connections } = context;
  prependHandler(server, (behind) => {
    const path: FastPath = {
      context,
      heads: createFastResponseHeads(idleTimeoutMs, { ...context, wallClock: Date.now }),
      outbox: new Outbox(),
      keepHead: shareMessageHeads(),
      hotRestart: (socket, unread) => {
        connections.serve(socket, undefined);
        behind(socket);
        pushBackBytes(socket, unread);
      },
    };
    return (socket) => connections.serve(socket, new FastConnection(socket, path));
  });
}
