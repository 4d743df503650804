import { randomInt } from "node:crypto";
import { createServer, type AddressInfo, type Server } from "node:net";

/** Ports on loopback that nothing listens on; all are held at one time, so that no two are the same. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Whether something takes connections on a loopback port. */
export async function isListening(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(true));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(false)));
  });
}

/**
 * Ports are taken below those that Linux gives to outgoing connections and to listeners on port 0 (`ip_local_port_range`, from 32768 on): of
 * those, somebody else may have one by the time that it is used. Each of the processes that run tests at the same time has its own part.
 */
const ports = { from: 20_001, to: 32_768 } as const;
const parts = 8;
const partSize = Math.floor((ports.to - ports.from) / parts);
const partFrom = ports.from + (Number(process.env["VITEST_POOL_ID"] ?? 0) % parts) * partSize;

/** Places in the part, one after the other from anywhere, so that none comes twice soon. */
let place = randomInt(partSize);

async function listen(): Promise<Server> {
  for (let tries = 1; ; tries += 1) {
    const server = createServer();
    place = (place + 1) % partSize;
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      server.once("error", resolve);
      server.listen(partFrom + place, "127.0.0.1", () => resolve(undefined));
    });
    if (error === undefined) return server;
    if (error.code !== "EADDRINUSE" || tries === partSize) throw error;
  }
}
