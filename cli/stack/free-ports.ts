import { createServer } from "node:net";
import { readUrlPort } from "#daemon/http/address.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { listRunningServices } from "#daemon/running-services.ts";
import { isSameListener } from "#daemon/settings/settings.ts";

export type RequestedPort = Readonly<{ host: string; port: number; owner: string; setting: string }>;

/**
 * Ensures that every port is free before anything starts.
 *
 * @throws {StartupError} with one line per port requested twice, or one line per port in use, which reports the port's owner and the setting that changes the port, and one line
 * per Gatehouse process on such a port, which explains how to stop it.
 */
export async function requireFreePorts(
  wanted: readonly RequestedPort[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const equal = wanted.flatMap((port, index) => findRival(port, wanted.slice(0, index)));
  if (equal.length > 0) throw new StartupError(equal);
  const taken = await Promise.all(wanted.map(isTaken));
  const conflicts = wanted.filter((_, index) => taken[index]);
  const lines = conflicts.map(
    ({ host, port, owner, setting }) =>
      `port ${port} on ${host}, needed by the ${owner}, is in use; stop the process that uses it, or set ${setting} to another port.`,
  );
  if (lines.length > 0) throw new StartupError([...lines, ...describeOwners(conflicts, env)]);
}

function findRival(wanted: RequestedPort, others: readonly RequestedPort[]): readonly string[] {
  const rival = others.find((other) => isSameListener(other, wanted));
  return rival === undefined
    ? []
    : [`${rival.setting} and ${wanted.setting} are both set to ${wanted.port}; change one.`];
}

function describeOwners(conflicts: readonly RequestedPort[], env: Readonly<Record<string, string | undefined>>) {
  const ports = new Set(conflicts.map(({ port }) => port));
  const owners = listRunningServices(env).filter(({ url }) => ports.has(readUrlPort(new URL(url))));
  const byPid = Map.groupBy(owners, ({ stopPid }) => stopPid);
  return [...byPid].map(
    ([pid, services]) =>
      `Gatehouse is already running here (${services.map(({ service }) => service).join(", ")}): stop it with kill ${pid}.`,
  );
}

async function isTaken({ host, port }: RequestedPort): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(true) : reject(error),
    );
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
