import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";

/** A server on a free loopback port. Disposing of it closes an HTTP server's connections, too. */
export type LocalServer = AsyncDisposable & Readonly<{ port: number; url: string }>;

export async function listenLocally(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      if (server instanceof HttpServer) server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
