import { createServer } from "node:net";

/** Tries to listen on a port; what is in the way, or `undefined` when nothing is. */
export type PortProbe = (address: string, port: number) => Promise<string | undefined>;

/** Listens for an instant, as the engine will. */
export const probePort: PortProbe = (address, port) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(obstacle(code, address)));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });

function obstacle(code: string | undefined, address: string): string | undefined {
  if (code === "EADDRINUSE") return `another program on this machine listens on it at ${address}`;
  if (code === "EADDRNOTAVAIL") return `${address} is no address of this machine`;
  // Ports that only root may take are the engine's to judge.
  return undefined;
}
