import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Serves a connection. */
export type ServeConnection = (socket: Socket) => void;

/**
 * Puts something before whoever serves a server's connections: it gets every new one first, and gives on to `behind` what it does not
 * serve itself. To be called before the server listens; what is put there last comes first.
 */
export function putBefore(server: Server, before: (behind: ServeConnection) => ServeConnection): void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on(
    "connection",
    before((socket) => {
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    }),
  );
}
