import type { WebSocket } from "ws";

/**
 * Answers a client's pings: of those that come in one turn of the event loop the last (RFC 6455, section 5.5.3). Thousands fit into what is read at
 * once, and each answer would be a write of its own.
 */
export function answerPings(socket: WebSocket): void {
  let latest: Buffer | undefined;
  const answer = () => {
    const data = latest;
    latest = undefined;
    if (data !== undefined && socket.readyState === socket.OPEN) socket.pong(data);
  };
  socket.on("ping", (data: Buffer) => {
    if (latest === undefined) setImmediate(answer);
    latest = data;
  });
}
