import { readdir, readFile, readlink } from "node:fs/promises";
import type { Clock } from "#daemon/clock.ts";
import { processesIn } from "./processes-in.ts";
import { processStart, type ProcessStart } from "./process-start.ts";

/** State of a socket that listens, as `/proc/net/tcp` writes it (proc_pid_net(5)). */
const listening = "0A";

/**
 * When the process started that listens on a port of this machine and runs in a directory, or from a program in it: both, since a shell may be
 * in that directory and a proxy on that port. Undefined where no such process is seen: in another container, of another user, not on Linux.
 */
export async function listenerStart(port: number, directory: string, clock: Clock): Promise<ProcessStart | undefined> {
  const sockets = await listeningSockets(port);
  if (sockets.size === 0) return undefined;
  for (const pid of await processesIn(directory)) {
    if (await holdsOneOf(sockets, pid)) return processStart(pid, clock);
  }
  return undefined;
}

/** The sockets that listen on a port, as the links in `/proc/<pid>/fd` name them. */
async function listeningSockets(port: number): Promise<ReadonlySet<string>> {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "utf8").catch(() => ""));
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = (await Promise.all(tables)).flatMap((table) =>
    table.split("\n").map((line) => line.trim().split(/\s+/)),
  );
  const found = rows.filter(([, local, , state]) => state === listening && local?.endsWith(suffix) === true);
  return new Set(found.map((row) => `socket:[${row[9] ?? ""}]`));
}

async function holdsOneOf(sockets: ReadonlySet<string>, pid: number): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => "")));
  return links.some((link) => sockets.has(link));
}
