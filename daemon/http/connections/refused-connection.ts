import type { Socket } from "node:net";

/** Time in which a refused client may take its answer. */
const refusalMs = 1_000;

/** As node:http answers what is no request. */
export const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/** As node:http answers a request that does not become whole in time. */
export const requestTimeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

/** Answers a connection that is not served, reads nothing of it, and closes it soon, whatever its client does meanwhile. */
export function refuseConnection(socket: Socket, answer: string): void {
  // Followed by "close".
  socket.on("error", () => socket.destroy());
  // Not `setTimeout` of the socket, which starts over with every byte that its client sends.
  const late = setTimeout(() => socket.destroy(), refusalMs);
  socket.once("close", () => clearTimeout(late));
  socket.resume();
  socket.end(answer, "latin1");
}

/** Formats an answer in plain text after which the connection closes; `headers` are whole lines. */
export function formatRefusal(status: string, message: string, headers: readonly string[] = []): string {
  const lines = [
    `HTTP/1.1 ${status}`,
    "Content-Type: text/plain; charset=utf-8",
    ...headers,
    `Content-Length: ${Buffer.byteLength(message) + 1}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${message}\n`;
}
