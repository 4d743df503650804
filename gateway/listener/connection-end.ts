import type { Socket } from "node:net";

/** Time without progress after which a closing connection is destroyed. */
const closingMs = 1_000;

/**
 * Closes both sides of a connection after the bytes written so far and an optional last response, a binary string. It closes both because a
 * client need not respond to a half-close with its own.
 */
export function endConnection(socket: Socket, answer: string | undefined): void {
  // With nothing to wait for, it closes at once: ending this side first would be an extra system call for the same result.
  if (answer === undefined && socket.writableLength === 0) {
    socket.destroy();
    return;
  }
  socket.setTimeout(closingMs);
  if (answer === undefined) socket.destroySoon();
  else socket.write(answer, "latin1", () => socket.destroy());
}
