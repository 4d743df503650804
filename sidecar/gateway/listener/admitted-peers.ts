import type { Server } from "node:http";
import { putBefore } from "#daemon/put-before.ts";

/** Who may call a listener. */
export type AdmittedPeers = Readonly<{
  mayCall: (address: string) => boolean;
  /** The setting that names those who may, for the refusal. */
  setting: string;
}>;

/** Time in which a refused peer may take its answer. */
const refusalMs = 1_000;

/**
 * Puts a gate before whoever serves a server's connections: a peer whose address may not call is answered 403, and nothing that it
 * sends is read. Call it last of all, before the server listens.
 */
export function admitPeers(server: Server, { mayCall, setting }: AdmittedPeers): void {
  const message = `this address may not call here; ${setting} names those that may\n`;
  const refusal = `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${message.length}\r\nConnection: close\r\n\r\n${message}`;
  putBefore(server, (behind) => (socket) => {
    if (mayCall(socket.remoteAddress ?? "")) {
      behind(socket);
      return;
    }
    // Followed by "close".
    socket.on("error", () => socket.destroy());
    socket.setTimeout(refusalMs, () => socket.destroy());
    socket.resume();
    socket.end(refusal);
  });
}
