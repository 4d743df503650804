import { readdir, readlink, open, readFile, realpath } from "node:fs/promises";
import { basename, sep } from "node:path";
import { uptime } from "node:os";
import type { Clock } from "#daemon/clock.ts";
import { isLeftRunning } from "#daemon/process/lasting-process.ts";

/**
 * Finds when the process started that listens on a port of this machine and runs in a directory, or from a program in it: both, since a shell may be
 * in that directory and a proxy on that port. Undefined if no such process is seen: in another container, of another user, not on Linux.
 */
export async function findListenerStart(
  port: number,
  directory: string,
  clock: Clock,
): Promise<ProcessStart | undefined> {
  const [pid] = await findListeners(port, directory);
  return pid === undefined ? undefined : readProcessStart(pid, clock);
}

/** Finds the processes that listen on a port of this machine and run in a directory, or from a program in it, as far as they are seen. */
export async function findListeners(port: number, directory: string): Promise<readonly number[]> {
  const sockets = await findListeningSockets(port);
  const pids: number[] = [];
  if (sockets.size === 0) return pids;
  for (const pid of await findProcessesIn(directory)) if (await hasOpenSocket(sockets, pid)) pids.push(pid);
  return pids;
}

async function hasOpenSocket(sockets: ReadonlySet<string>, pid: number): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => "")));
  return links.some((link) => sockets.has(link));
}

/** State of a socket that listens, as the tables write it (proc_pid_net(5)). */
const listening = "0A";

/** Tables in which Linux lists this machine's TCP sockets. */
const ownTables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * Finds the sockets that listen on a port, as the links in `/proc/<pid>/fd` name them. A table begins with the sockets that listen (the kernel's
 * Documentation/networking/proc_net_tcp.rst) and is read no further: behind them stands each connection, also those that were closed within
 * the last minute. Under a flood of connections that is megabytes, which took the thread half a second. A table that can't be read has none.
 */
export async function findListeningSockets(port: number, tables = ownTables): Promise<ReadonlySet<string>> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const found = await Promise.all(tables.map((path) => readListeningSockets(path, suffix).catch(() => [])));
  return new Set(found.flat());
}

async function readListeningSockets(path: string, suffix: string): Promise<readonly string[]> {
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

/**
 * Finds the processes that run in a directory or from a program in it, other than the sidecar and its children. Empty, too, if processes
 * can't be seen: on another system than Linux, or those of another user.
 */
export async function findProcessesIn(directory: string): Promise<readonly number[]> {
  return (await listProcesses(directory)).flatMap(({ pid, isInside }) => (isInside ? [pid] : []));
}

/** Process of this machine. */
export type HostProcess = Readonly<{
  pid: number;
  /** File name of its program, an interpreter for a script; empty if it is another user's. */
  program: string;
  /** Whether it runs in the directory, and whether its program is there. */
  isInside: boolean;
  isProgramInside: boolean;
}>;

/** Lists the machine's processes, other than the sidecar and its children, and says of each whether it is in a directory. */
export async function listProcesses(directory: string): Promise<readonly HostProcess[]> {
  const place = await realpath(directory).catch(() => directory);
  const isThere = (path: string) => path === place || path.startsWith(place + sep);
  const pids = (await readdir("/proc").catch(() => [])).filter((entry) => /^\d+$/.test(entry));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [cwd = "", exe = ""] = await Promise.all(
        ["cwd", "exe"].map((link) => readlink(`/proc/${pid}/${link}`).catch(() => "")),
      );
      if ((cwd === "" && exe === "") || (await isOwn(pid))) return [];
      const isProgramInside = isThere(exe);
      const isInside = isProgramInside || isThere(cwd);
      // The system marks a program whose file was replaced since.
      return [{ pid: Number(pid), program: basename(exe.replace(/ \(deleted\)$/, "")), isInside, isProgramInside }];
    }),
  );
  return found.flat();
}

/** Reads the command line of a process; empty if it has ended. */
export async function readCommandLine(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ");
}

/** Whether a process is the sidecar, or a program that it has begun, such as node_cli; not one that it has left running, which is the node. */
async function isOwn(pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  // One that has ended meanwhile says nothing any more.
  if (status === "") return true;
  if (Number(pid) === process.pid) return true;
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]) === process.pid && !isLeftRunning(Number(pid));
}

/** Clock ticks in a second, in which Linux reports a process's start to programs (`proc_pid_stat(5)`). */
const ticksPerSecond = 100;

/** Start of a process by both clocks, to about 20 ms. */
type ProcessStart = Readonly<{ wallMs: number; monotonicMs: number }>;

/**
 * Reads when a process started; undefined if it has ended, or on another system than Linux. Linux reports it by the machine's uptime, which is
 * read right after the clocks: a pause of this process in between makes the other seem older, never younger than it is.
 */
export async function readProcessStart(pid: number, clock: Clock): Promise<ProcessStart | undefined> {
  const ticks = await readStartTicks(pid);
  if (ticks === undefined) return undefined;
  const wallMs = clock.wallMs();
  const monotonicMs = clock.monotonicMs();
  const ageMs = uptime() * 1_000 - (ticks / ticksPerSecond) * 1_000;
  return { wallMs: wallMs - ageMs, monotonicMs: monotonicMs - ageMs };
}

/** States of a process that has ended and whose parent has not collected its status yet (`proc_pid_stat(5)`). */
const endedStates: ReadonlySet<string | undefined> = new Set(["Z", "X"]);

/**
 * Reads when a process started, in clock ticks since the machine did: with its id, that distinguishes it from every other one. Undefined if it has
 * ended, or on another system than Linux.
 */
export async function readStartTicks(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  if (stat === "") return undefined;
  // The second field is a name in parentheses, which may hold anything; the state comes after it, and the start is the 20th field from there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[19] ?? Number.NaN);
  return endedStates.has(fields[0]) || !Number.isFinite(ticks) ? undefined : ticks;
}
