import type { Socket } from "node:net";

/** Time without progress after which a connection that is being closed is no longer waited for. */
const closingMs = 1_000;

/**
 * Closes both sides of a connection after the bytes written so far and a last answer, a binary string, if there is one. It closes both because
 * a client need not answer the end of one with its own.
 */
export function endConnection(socket: Socket, answer: string | undefined): void {
  // With nothing to wait for it is closed at once: to end this side first would be one more call of the system for the same.
  if (answer === undefined && socket.writableLength === 0) {
    socket.destroy();
    return;
  }
  socket.setTimeout(closingMs);
  if (answer === undefined) socket.destroySoon();
  else socket.write(answer, "latin1", () => socket.destroy());
}
