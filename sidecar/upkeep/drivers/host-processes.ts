import { readdir, readlink, open, readFile, realpath } from "node:fs/promises";
import { basename, sep } from "node:path";
import { uptime } from "node:os";
import type { Clock } from "#daemon/clock.ts";
import { isLeftRunning } from "#daemon/process/long-running-process.ts";

/**
 * Finds the start time of the process that listens on a port on this machine and runs either in a directory or from a program in it. Both
 * are required: a shell may be in that directory, and a proxy may listen on that port. Undefined if no such process is visible: in another
 * container, of another user, not on Linux.
 */
export async function findListenerStart(
  port: number,
  directory: string,
  clock: Clock,
): Promise<ProcessStart | undefined> {
  const [pid] = await findListeners(port, directory);
  return pid === undefined ? undefined : readProcessStart(pid, clock);
}

/** Finds the visible processes that listen on a port on this machine and run either in a directory or from a program in it. */
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

/** State of a listening socket in the tables (proc_pid_net(5)). */
const listening = "0A";

/** Linux tables that list this machine's TCP sockets. */
const ownTables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * Finds the sockets that listen on a port, under the names used by the links in `/proc/<pid>/fd`. A table starts with the listening sockets
 * (the kernel's Documentation/networking/proc_net_tcp.rst), and reading stops after them: the rest lists every connection, including those
 * closed within the last minute. During a flood of connections the rest is megabytes long, and reading it blocked the thread for half a
 * second. An unreadable table counts as empty.
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
 * Finds the processes that run in a directory or from a program in it, except the sidecar and its children. Also empty if processes aren't
 * visible: on systems other than Linux, or if they belong to another user.
 */
export async function findProcessesIn(directory: string): Promise<readonly number[]> {
  const inside = (await readProcesses(directory)).filter(({ isInside }) => isInside);
  return (await withoutOwn(inside)).map(({ pid }) => pid);
}

/** A process on this machine. */
export type HostProcess = Readonly<{
  pid: number;
  /** File name of the process's program (for a script, of its interpreter); empty if the process belongs to another user. */
  program: string;
  /** Whether the process runs in the directory or its program is there. `isProgramInside`: only whether its program is there. */
  isInside: boolean;
  isProgramInside: boolean;
}>;

/** Lists the machine's processes, except the sidecar and its children, with whether each is in a given directory. */
export async function listProcesses(directory: string): Promise<readonly HostProcess[]> {
  return withoutOwn(await readProcesses(directory));
}

async function readProcesses(directory: string): Promise<readonly HostProcess[]> {
  const place = await realpath(directory).catch(() => directory);
  const entryExists = (path: string) => path === place || path.startsWith(place + sep);
  const found = await Promise.all(
    (await listPids()).map(async (pid) => {
      const [cwd = "", exe = ""] = await Promise.all(
        ["cwd", "exe"].map((link) => readlink(`/proc/${pid}/${link}`).catch(() => "")),
      );
      if (cwd === "" && exe === "") return [];
      const isProgramInside = entryExists(exe);
      const isInside = isProgramInside || entryExists(cwd);
      // The system adds a marker to the name of a program whose file was replaced.
      return [{ pid, program: basename(exe.replace(/ \(deleted\)$/, "")), isInside, isProgramInside }];
    }),
  );
  return found.flat();
}

/** Lists the visible processes; none on systems other than Linux. */
export async function listPids(): Promise<readonly number[]> {
  const entries = await readdir("/proc").catch(() => []);
  return entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/** Reads a file about a process; empty if the process has exited. */
export function readProcessFile(pid: number, file: "cgroup" | "cmdline" | "comm" | "stat" | "status"): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
}

async function withoutOwn(processes: readonly HostProcess[]): Promise<readonly HostProcess[]> {
  const owned = await Promise.all(processes.map(({ pid }) => isOwn(pid)));
  return processes.filter((_, at) => owned[at] === false);
}

/** Reads a process's command line; empty if the process has exited. */
export async function readCommandLine(pid: number): Promise<string> {
  return (await readProcessFile(pid, "cmdline")).replaceAll("\0", " ");
}

/** Whether a process is the sidecar or a program that it started, such as node_cli. A program that the sidecar left running is the node, and doesn't count. */
async function isOwn(pid: number): Promise<boolean> {
  const status = await readProcessFile(pid, "status");
  // A process that has since exited is ignored.
  if (status === "") return true;
  if (pid === process.pid) return true;
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]) === process.pid && !isLeftRunning(pid);
}

/** Clock ticks per second, the unit in which Linux reports a process's start time (`proc_pid_stat(5)`). */
const ticksPerSecond = 100;

/** A process's start time on both clocks, accurate to about 20 ms. */
type ProcessStart = Readonly<{ wallMs: number; monotonicMs: number }>;

/**
 * Reads when a process started; undefined if the process has exited, or on systems other than Linux. Linux reports the time relative to the
 * machine's uptime, which is read right after the clocks. If this process is paused in between, the other process seems older than it is,
 * never younger.
 */
export async function readProcessStart(pid: number, clock: Clock): Promise<ProcessStart | undefined> {
  const ticks = await readStartTicks(pid);
  if (ticks === undefined) return undefined;
  const wallMs = clock.wallMs();
  const monotonicMs = clock.monotonicMs();
  const ageMs = uptime() * 1_000 - (ticks / ticksPerSecond) * 1_000;
  return { wallMs: wallMs - ageMs, monotonicMs: monotonicMs - ageMs };
}

/** States of a process that has exited but whose parent hasn't collected its status yet (`proc_pid_stat(5)`). */
const endedStates: ReadonlySet<string | undefined> = new Set(["Z", "X"]);

/**
 * Reads when a process started, in clock ticks since boot; together with the process id, this is unique. Undefined if the process has
 * exited, or on systems other than Linux.
 */
export async function readStartTicks(pid: number): Promise<number | undefined> {
  const stat = await readProcessFile(pid, "stat");
  if (stat === "") return undefined;
  // The second field is a name in parentheses, which may contain any characters; the state follows it, and the start is the 20th field from
  // there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[19] ?? Number.NaN);
  return endedStates.has(fields[0]) || !Number.isFinite(ticks) ? undefined : ticks;
}
