import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { waitUntil } from "#daemon/time.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { readProcessStart, readStatFields } from "./process-start.ts";

const run = promisify(execFile);
const psMs = 10_000;
const psBytes = 16_777_216;
const killedWithinMs = 10_000;
const lookAgainMs = 50;

/** Fields of /proc/<pid>/stat after the program's name (proc_pid_stat(5)). */
const parentField = 1;
const sessionField = 3;

type TableRow = Readonly<{ pid: number; parent: number; session?: number }>;

/**
 * Kills a process with all its descendants, and waits for their end. Pulumi starts each plugin in its own process group: a signal to
 * Pulumi's group ends only Pulumi, and its plugins would continue to create containers.
 */
export async function endProcessTree(root: number): Promise<void> {
  const tree = findTree(root, await readTable());
  const starts = new Map<number, string | undefined>();
  for (const pid of tree) starts.set(pid, await readProcessStart(pid));
  for (const pid of tree) {
    // Processes that were started since the look are in one of their groups.
    sendSignal(-pid, "SIGKILL");
    sendSignal(pid, "SIGKILL");
  }
  const areThere = async () => {
    const now = await Promise.all([...starts].map(async ([pid, start]) => [start, await readProcessStart(pid)]));
    return now.some(([then, start]) => start !== undefined && start === then);
  };
  await waitUntil(areThere, (there) => !there, { everyMs: lookAgainMs, withinMs: killedWithinMs });
}

/** Finds a process, its descendants, and processes left in its session whose parent has ended. Pure. */
function findTree(root: number, table: readonly TableRow[]): ReadonlySet<number> {
  const tree = new Set([root]);
  for (let before = 0; before < tree.size;) {
    before = tree.size;
    for (const { pid, parent, session } of table) if (tree.has(parent) || session === root) tree.add(pid);
  }
  return tree;
}

async function readTable(): Promise<readonly TableRow[]> {
  const names = (await readdir("/proc").catch(skipMissing)) ?? [];
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  if (pids.length === 0) return await readTableByPs();
  const table: TableRow[] = [];
  for (const pid of pids) {
    const fields = await readStatFields(pid);
    if (fields === undefined) continue;
    table.push({ pid, parent: Number(fields[parentField]), session: Number(fields[sessionField]) });
  }
  return table;
}

/** Reads the table of processes by `ps`, for machines without /proc. */
async function readTableByPs(): Promise<readonly TableRow[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid="], { timeout: psMs, maxBuffer: psBytes });
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }));
}
