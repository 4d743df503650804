import { readdir, readlink } from "node:fs/promises";
import type { Clock } from "#daemon/clock.ts";
import { listeningSockets } from "./listening-sockets.ts";
import { processesIn } from "./processes-in.ts";
import { processStart, type ProcessStart } from "./process-start.ts";

/**
 * When the process started that listens on a port of this machine and runs in a directory, or from a program in it: both, since a shell may be
 * in that directory and a proxy on that port. Undefined where no such process is seen: in another container, of another user, not on Linux.
 */
export async function listenerStart(port: number, directory: string, clock: Clock): Promise<ProcessStart | undefined> {
  const [pid] = await listenersIn(port, directory);
  return pid === undefined ? undefined : processStart(pid, clock);
}

/** The processes that listen on a port of this machine and run in a directory, or from a program in it, as far as they are seen. */
export async function listenersIn(port: number, directory: string): Promise<readonly number[]> {
  const sockets = await listeningSockets(port);
  const pids: number[] = [];
  if (sockets.size === 0) return pids;
  for (const pid of await processesIn(directory)) if (await holdsOneOf(sockets, pid)) pids.push(pid);
  return pids;
}

async function holdsOneOf(sockets: ReadonlySet<string>, pid: number): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => "")));
  return links.some((link) => sockets.has(link));
}
