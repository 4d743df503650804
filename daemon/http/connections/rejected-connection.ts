import type { Socket } from "node:net";

/** Time limit for a rejected client to read its response, and max bytes that it may send until then. */
const [rejectionMs, rejectionBytes] = [1_000, 16_777_216];

/** The response that node:http sends to a malformed request. */
export const badRequestResponse = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/** The response that node:http sends to a request that isn't complete in time. */
export const requestTimeoutResponse = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

/**
 * Sends a rejected connection its response, and closes it soon, regardless of the client. Until then, its input is discarded: after an
 * immediate close, the reset would make the client's kernel discard the response.
 */
export function rejectConnection(socket: Socket, response: string): void {
  // A "close" event follows.
  socket.on("error", () => socket.destroy());
  // Not the socket's `setTimeout`, which every byte from the client would reset.
  const late = setTimeout(() => socket.destroy(), rejectionMs);
  socket.once("close", () => clearTimeout(late));
  let discardedBytes = 0;
  socket.on("data", (bytes: Buffer) => {
    discardedBytes += bytes.length;
    if (discardedBytes > rejectionBytes) socket.destroy();
  });
  socket.end(response, "latin1");
}

/** Formats a plain-text response after which the connection closes; `headers` are complete lines. */
export function formatRejection(status: string, message: string, headers: readonly string[] = []): string {
  const lines = [
    `HTTP/1.1 ${status}`,
    "Content-Type: text/plain; charset=utf-8",
    ...headers,
    `Content-Length: ${Buffer.byteLength(message) + 1}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${message}\n`;
}
