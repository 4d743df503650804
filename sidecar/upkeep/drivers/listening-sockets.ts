import { open } from "node:fs/promises";

/** State of a socket that listens, as the tables write it (proc_pid_net(5)). */
const listening = "0A";

/** Where Linux shows this machine's TCP sockets. */
const ownTables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * The sockets that listen on a port, as the links in `/proc/<pid>/fd` name them. A table begins with the sockets that listen (the kernel's
 * Documentation/networking/proc_net_tcp.rst) and is read no further: behind them stands each connection, also those that were closed within
 * the last minute. Under a flood of connections that is megabytes, which took the thread half a second. A table that can't be read has none.
 */
export async function listeningSockets(port: number, tables = ownTables): Promise<ReadonlySet<string>> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const found = await Promise.all(tables.map((path) => listeningIn(path, suffix).catch(() => [])));
  return new Set(found.flat());
}

async function listeningIn(path: string, suffix: string): Promise<readonly string[]> {
  const found: string[] = [];
  let isHeading = true;
  await using file = await open(path);
  for await (const line of file.readLines()) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (!isHeading && state !== listening) break;
    if (!isHeading && local?.endsWith(suffix) === true) found.push(`socket:[${inode ?? ""}]`);
    isHeading = false;
  }
  return found;
}
