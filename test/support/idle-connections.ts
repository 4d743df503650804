import { once } from "node:events";
import { connect } from "node:net";

export async function openIdleConnections(url: string, count: number): Promise<AsyncDisposable> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect({ host: hostname, port: Number(port) }));
  for (const socket of sockets) socket.on("error", () => socket.destroy()).resume();
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    },
  };
}
