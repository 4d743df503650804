import { createServer } from "node:net";
import { StartupError } from "#daemon/process/startup-error.ts";

/** A port that a part of the stack is going to listen on. */
export type WantedPort = Readonly<{ host: string; port: number; owner: string; setting: string }>;

/**
 * Makes sure that every port is free before anything starts.
 *
 * @throws {StartupError} with one line per taken port: whose it is and which setting moves it.
 */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const taken = await Promise.all(wanted.map(isTaken));
  const lines = wanted
    .filter((_, index) => taken[index])
    .map(
      ({ host, port, owner, setting }) =>
        `port ${port} on ${host}, wanted by the ${owner}, is taken; stop what uses it or set ${setting} to another port.`,
    );
  if (lines.length > 0) throw new StartupError(lines);
}

async function isTaken({ host, port }: WantedPort): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(true) : reject(error),
    );
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
