import { readdir, readFile } from "node:fs/promises";
import { isProcessAlive } from "./send-signal.ts";

/** Identifies a process uniquely, even if its process id is reused. */
export type ProcessIdentity = Readonly<{
  pid: number;
  /** Start time, in clock ticks since boot (proc(5), `/proc/<pid>/stat`); 0 without `/proc`. */
  startTicks: number;
}>;

/** States of a process that has exited but whose parent hasn't collected its status yet (`proc_pid_stat(5)`). */
const endedStates: ReadonlySet<string | undefined> = new Set(["Z", "X"]);

/** Reads a running process's identity; undefined if it does not exist or is a zombie. */
export async function readProcessIdentity(pid: number): Promise<ProcessIdentity | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ESRCH") throw error;
    return process.platform === "linux" || !isProcessAlive(pid) ? undefined : { pid, startTicks: 0 };
  }
  const [state, startTicks] = [0, 19].map((at) => splitStat(stat)[at]);
  return endedStates.has(state) ? undefined : { pid, startTicks: Number(startTicks) };
}

/** Splits a process's `stat` into its fields from the state on; the name before them, in parentheses, may contain any characters. */
export function splitStat(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Checks whether exactly this process is still running. */
export async function isRunning({ pid, startTicks }: ProcessIdentity): Promise<boolean> {
  return (await readProcessIdentity(pid))?.startTicks === startTicks;
}

/** Lists the processes that the system shows; none without `/proc`. */
export async function listPids(): Promise<readonly number[]> {
  const entries = await readdir("/proc").catch(() => []);
  return entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/** Reads a file about a process; empty if the process has exited, or belongs to another user. */
export function readProcessFile(pid: number, file: "cgroup" | "cmdline" | "comm" | "stat" | "status"): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
}
