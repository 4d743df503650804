import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Starts, for one test, a server that accepts connections and never responds; `asked` resolves at the first connection. */
export async function startSilentServer() {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => socket.destroy()));
    resolve();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}
