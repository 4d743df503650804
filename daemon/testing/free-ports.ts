import { randomInt } from "node:crypto";
import { createServer, type AddressInfo, type Server } from "node:net";

/** Finds unused ports on loopback; reserves all at once, so that no two are the same. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export async function isListening(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(true));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(false)));
  });
}

/**
 * Ports below the range that Linux assigns to outgoing connections and to listeners on port 0 (`ip_local_port_range`, from 32768 on):
 * another process might take one of those before it is used. Each concurrent test process has its own part.
 */
const ports = { from: 20_001, to: 32_768 } as const;
const parts = 8;
const partSize = Math.floor((ports.to - ports.from) / parts);
const partFrom = ports.from + (Number(process.env["VITEST_POOL_ID"] ?? 0) % parts) * partSize;

/** Sequential offsets in the part from a random start, so that a port isn't reused soon. */
let offset = randomInt(partSize);

async function listen(): Promise<Server> {
  for (let tries = 1; ; tries += 1) {
    const server = createServer();
    offset = (offset + 1) % partSize;
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      server.once("error", resolve);
      server.listen(partFrom + offset, "127.0.0.1", () => resolve(undefined));
    });
    if (error === undefined) return server;
    if (error.code !== "EADDRINUSE" || tries === partSize) throw error;
  }
}
