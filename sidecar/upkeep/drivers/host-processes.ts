import { readlinkSync } from "node:fs";
import { readdir, readlink, open, realpath } from "node:fs/promises";
import { basename, sep } from "node:path";
import { uptime } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "#daemon/clock.ts";
import { skipHanging, type FileDeadline } from "#daemon/files/file-deadline.ts";
import {
  isRunning,
  listPids,
  readProcessFile,
  readProcessIdentity,
  type ProcessIdentity,
} from "#daemon/process/running-process.ts";
import { isDetachedProgram } from "../../programs/long-running-process.ts";
import { readUrlPort } from "#daemon/http/address.ts";

/** Finds the processes that both listen on the port and are in the directory: a shell may be in it, and a proxy may listen on the port. */
async function findListeners(port: number, directory: string): Promise<readonly number[]> {
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
const listeningState = "0A";

const ownTables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * Finds the sockets that listen on a port, as named in `/proc/<pid>/fd`. Stops after a table's listening sockets, which come first (kernel,
 * proc_net_tcp.rst): the rest lists every connection, megabytes during a flood, which blocked the thread for half a second.
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
    if (!isHeading && state !== listeningState) break;
    if (!isHeading && local?.endsWith(suffix) === true) found.push(`socket:[${inode ?? ""}]`);
    isHeading = false;
  }
  return found;
}

async function findProcessesIn(directory: string): Promise<readonly number[]> {
  const inside = (await readProcesses(directory)).filter(({ isInside }) => isInside);
  return (await excludeOwnProcesses(inside)).map(({ pid }) => pid);
}

type HostProcess = Readonly<{
  pid: number;
  /** File name of the process's program (for a script, of its interpreter); empty if the process belongs to another user. */
  program: string;
  /** Whether the process runs in the directory or its program is there. `isProgramInside`: only whether its program is there. */
  isInside: boolean;
  isProgramInside: boolean;
}>;

/** `directory` contains no links, as in the paths that the kernel reports. */
async function readProcesses(directory: string): Promise<readonly HostProcess[]> {
  const entryExists = (path: string) => path === directory || path.startsWith(directory + sep);
  const found: HostProcess[] = [];
  for (const [index, pid] of (await listPids()).entries()) {
    if (index % concurrentReadsMax === 0) await nextTurn();
    const [cwd, exe] = [readProcessLink(pid, "cwd"), readProcessLink(pid, "exe")];
    if (cwd === "" && exe === "") continue;
    const isProgramInside = entryExists(exe);
    const isInside = isProgramInside || entryExists(cwd);
    // The system adds a marker to the name of a program whose file was replaced.
    found.push({ pid, program: basename(exe.replace(/ \(deleted\)$/, "")), isInside, isProgramInside });
  }
  return found;
}

/** Number of processes to read before requests to the gateway get a turn; reading them takes a millisecond. */
const concurrentReadsMax = 100;

/** Synchronous, because the kernel answers from memory: a promise per link takes three times as much CPU on a host with many processes. */
function readProcessLink(pid: number, link: "cwd" | "exe"): string {
  try {
    return readlinkSync(`/proc/${pid}/${link}`);
  } catch {
    // The process has exited, or belongs to another user or the kernel.
    return "";
  }
}

async function excludeOwnProcesses(processes: readonly HostProcess[]): Promise<readonly HostProcess[]> {
  const ownFlags = await Promise.all(processes.map(({ pid }) => isOwnProcess(pid)));
  return processes.filter((_, at) => ownFlags[at] === false);
}

async function readCommandLine(pid: number): Promise<string> {
  return (await readProcessFile(pid, "cmdline")).replaceAll("\0", " ");
}

/** Whether a process is the sidecar or a program that it started, such as node_cli. A program that the sidecar left running is the node, and doesn't count. */
async function isOwnProcess(pid: number): Promise<boolean> {
  const status = await readProcessFile(pid, "status");
  // A process that has since exited is ignored.
  if (status === "") return true;
  if (pid === process.pid) return true;
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]) === process.pid && !isDetachedProgram(pid);
}

/** Clock ticks per second, the unit in which Linux reports a process's start time (`proc_pid_stat(5)`). */
const ticksPerSecond = 100;

/** A process's start time on both clocks, accurate to about 20 ms. */
type ProcessStart = Readonly<{ wallMs: number; monotonicMs: number }>;

/** Linux reports the start relative to its uptime, read right after the clocks: a pause in between makes the process seem older, never younger. */
export async function readProcessStart(pid: number, clock: Clock): Promise<ProcessStart | undefined> {
  const identity = await identify(pid);
  if (identity === undefined) return undefined;
  const wallMs = clock.wallMs();
  const monotonicMs = clock.monotonicMs();
  const ageMs = uptime() * 1_000 - (identity.startTicks / ticksPerSecond) * 1_000;
  return { wallMs: wallMs - ageMs, monotonicMs: monotonicMs - ageMs };
}

export type NodeProcesses = ReturnType<typeof createNodeProcesses>;

type NodeProcessesOptions = Readonly<{
  httpUrl: string;
  binDirectory: () => string;
  fileDeadline: () => FileDeadline;
  /**
   * Identifies the node's processes to `ops`. If undefined, these are the ones of the program in the bin directory that listens on the
   * port.
   */
  processName: () => string | undefined;
}>;

export function createNodeProcesses({ httpUrl, binDirectory, fileDeadline, processName }: NodeProcessesOptions) {
  const port = readUrlPort(new URL(httpUrl));
  let program: string | undefined;
  let known = { path: "", directory: "" };
  /** While the file system hangs, links are assumed to be unchanged. */
  const resolveDirectory = async (): Promise<string> => {
    const path = binDirectory();
    const resolve = () => realpath(path).catch(() => path);
    const directory = await fileDeadline().call(`resolving ${path}`, resolve).catch(skipHanging);
    if (directory !== undefined) known = { path, directory };
    return known.path === path ? known.directory : path;
  };
  return {
    now: async () => identifyAll(await findListeners(port, await resolveDirectory())),
    /** Finds the start of the process that listens on the node's port. */
    startOfListener: async (clock: Clock): Promise<ProcessStart | undefined> => {
      const [pid] = await findListeners(port, await resolveDirectory());
      return pid === undefined ? undefined : readProcessStart(pid, clock);
    },
    /** Finds the processes in the bin directory or from a program in it, except the sidecar and its children; none if they aren't visible. */
    inside: async () => findProcessesIn(await resolveDirectory()),
    /** Finds the node's processes (by port, or by program in its directory), and other nodes' of the same program elsewhere. */
    find: async () => {
      const directory = await resolveDirectory();
      const [holders, all] = await Promise.all([findListeners(port, directory), readProcesses(directory)]);
      program ??= all.find(({ pid, isProgramInside }) => isProgramInside && holders.includes(pid))?.program;
      const name = processName();
      const nodes = await Promise.all(
        all.map(async (process) => {
          const isNode =
            name === undefined ? process.program === program : (await readCommandLine(process.pid)).includes(name);
          return isNode ? [process] : [];
        }),
      );
      const otherProcesses = await excludeOwnProcesses(nodes.flat());
      const inside = otherProcesses.flatMap(({ pid, isInside }) => (isInside ? [pid] : []));
      const outsidePids = otherProcesses.flatMap(({ pid, isInside }) => (isInside ? [] : [pid]));
      return {
        own: await identifyAll([...new Set([...holders, ...inside])]),
        elsewhere: await identifyAll(outsidePids),
      };
    },
    runs: (node: ProcessIdentity) => isRunning(node).catch(() => false),
  };
}

/** A process that can't be read for lack of file descriptors counts as exited. */
function identify(pid: number): Promise<ProcessIdentity | undefined> {
  return readProcessIdentity(pid).catch(() => undefined);
}

async function identifyAll(pids: readonly number[]): Promise<readonly ProcessIdentity[]> {
  return (await Promise.all(pids.map(identify))).filter((found) => found !== undefined);
}
