import type { Socket } from "node:net";

/** Time without progress after which a closing connection is destroyed. */
const closingMs = 1_000;

/**
 * Closes both sides of a connection after the bytes written so far and an optional last response, which is a binary string. Both sides are
 * closed because a client need not respond to a half-close with one of its own.
 */
export function endConnection(socket: Socket, answer: string | undefined): void {
  // With nothing left to send, the connection is closed at once: ending this side first would be an extra system call for the same result.
  if (answer === undefined && socket.writableLength === 0) {
    socket.destroy();
    return;
  }
  socket.setTimeout(closingMs);
  if (answer === undefined) socket.destroySoon();
  else socket.write(answer, "latin1", () => socket.destroy());
}
