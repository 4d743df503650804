import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { bootTime } from "#daemon/clock.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { waitUntil } from "#daemon/time.ts";

/** Processes on this machine. */
export type Processes = Readonly<{
  /** Reads a process's start time as a string unique to the process; undefined if it has exited. */
  startOf: (pid: number) => Promise<string | undefined>;
  /** Sends SIGINT. */
  interrupt: (pid: number) => void;
  /** Kills a process with all its descendants, and waits for their exit. */
  kill: (pid: number) => Promise<void>;
}>;

/** The machine's own processes. */
export const systemProcesses: Processes = {
  startOf: readProcessStart,
  interrupt: (pid) => sendSignal(pid, "SIGINT"),
  kill: endProcessTree,
};

const run = promisify(execFile);
const psLimits = { timeout: 10_000, maxBuffer: 16_777_216 };
const killedWithinMs = 10_000;
const checkAgainMs = 50;

type ProcessRow = Readonly<{ pid: number; parent: number; session?: number; start: string }>;

/**
 * Reads a process's start time as a string that no other process with the same id ever has; undefined if the process has exited.
 *
 * @throws {Error} if this machine does not report the start time.
 */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  return (await readRows(pid))[0]?.start;
}

/**
 * Kills a process with all its descendants, and waits for their exit. Pulumi starts each plugin in its own process group: a signal to
 * Pulumi's group ends only Pulumi, and its plugins would continue to create containers.
 */
export async function endProcessTree(root: number): Promise<void> {
  const tree = findTree(root, await readRows());
  for (const pid of [root, ...tree.map((row) => row.pid)]) {
    // Processes started since the scan are in one of these groups.
    sendSignal(-pid, "SIGKILL");
    sendSignal(pid, "SIGKILL");
  }
  const areThere = async () => {
    const now = await Promise.all(tree.map(async ({ pid, start }) => (await readProcessStart(pid)) === start));
    return now.includes(true);
  };
  await waitUntil(areThere, (there) => !there, { everyMs: checkAgainMs, withinMs: killedWithinMs });
}

/** Finds a process, its descendants, and orphaned processes of its session. Pure. */
function findTree(root: number, rows: readonly ProcessRow[]): readonly ProcessRow[] {
  const tree = new Set([root]);
  for (let before = 0; before < tree.size;) {
    before = tree.size;
    for (const { pid, parent, session } of rows) if (tree.has(parent) || session === root) tree.add(pid);
  }
  return rows.filter(({ pid }) => tree.has(pid));
}

/** Reads all processes that have not exited, or only the one with this id. */
async function readRows(only?: number): Promise<readonly ProcessRow[]> {
  const { bootId } = bootTime();
  if (bootId === undefined) return await readRowsByPs(only);
  const names = only === undefined ? await readdir("/proc") : [String(only)];
  const rows = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((name) => readRow(name, bootId)));
  return rows.filter((row) => row !== undefined);
}

async function readRow(name: string, bootId: string): Promise<ProcessRow | undefined> {
  const text = await readFile(`/proc/${name}/stat`, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  });
  // The program's name, in parentheses, may contain anything (proc_pid_stat(5)).
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, , session] = fields ?? [];
  // A zombie has exited; its parent just hasn't read its exit status yet.
  if (fields === undefined || state === "Z") return undefined;
  return { pid: Number(name), parent: Number(parent), session: Number(session), start: `${bootId} ${fields[19]}` };
}

/** Reads processes with `ps`, for machines without /proc. */
async function readRowsByPs(only?: number): Promise<readonly ProcessRow[]> {
  const which = only === undefined ? ["-A"] : ["-p", String(only)];
  try {
    const { stdout } = await run("ps", [...which, "-o", "pid=,ppid=,lstart="], psLimits);
    return stdout.split("\n").flatMap((line) => {
      const [, pid, parent, start] = /^\s*(\d+)\s+(\d+)\s+(.*\S)/.exec(line) ?? [];
      return start === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), start }];
    });
  } catch (error) {
    // ps exits with 1 if there is no such process.
    if ((error as { code?: unknown }).code === 1) return [];
    throw error;
  }
}
