import type { Server } from "node:http";
import type { Socket } from "node:net";
import { giveRead, putBefore, takeReads, type ServeConnection } from "../raw-connections.ts";
import { readProxyHeader } from "./proxy-header.ts";

/** Time in which a proxy has to send the whole header. */
const timeoutMs = 5_000;

/**
 * Puts the PROXY protocol before whoever serves a server's connections: one from a trusted proxy begins with a header, and its
 * `remoteAddress` is the client's from then on. One without a whole header in time is closed, unanswered, because nobody could say whom it
 * is for. All others are served as they come, and a header of theirs is no HTTP request. To be called before the server listens, after what
 * is to see the client's address.
 */
export function takeProxyHeaders(server: Server, isTrusted: (remoteAddress: string) => boolean): void {
  putBefore(server, (behind) => (socket) => {
    if (isTrusted(socket.remoteAddress ?? "")) awaitHeader(socket, behind);
    else behind(socket);
  });
}

function awaitHeader(socket: Socket, behind: ServeConnection): void {
  let read: Buffer = Buffer.alloc(0);
  const close = () => socket.destroy();
  const timer = setTimeout(close, timeoutMs);
  socket.on("error", close);
  socket.on("end", close);
  const ended = () => clearTimeout(timer);
  socket.on("close", ended);
  const reads = takeReads(socket, (bytes) => {
    read = Buffer.concat([read, bytes]);
    const header = readProxyHeader(read);
    if (header.kind === "malformed") close();
    if (header.kind !== "whole") return !socket.destroyed;
    clearTimeout(timer);
    reads.release();
    socket.off("error", close);
    socket.off("end", close);
    socket.off("close", ended);
    if (header.source !== undefined) Object.defineProperty(socket, "remoteAddress", { value: header.source });
    behind(socket);
    // Only now, because the fast path takes what is read from here on, and never sees what the stream had before.
    if (read.length > header.endsAt) giveRead(socket, read.subarray(header.endsAt));
    return true;
  });
}
