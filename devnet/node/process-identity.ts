import { readFile } from "node:fs/promises";

/** Tells one process from every other, also from a later one that was given the same number. */
export type ProcessIdentity = Readonly<{
  pid: number;
  /** When the kernel started it, in clock ticks since boot (proc(5), `/proc/<pid>/stat`); 0 where there is no `/proc`. */
  startTicks: number;
}>;

/** The identity of a process that runs now, or nothing when there is none or only its remains (a zombie). */
export async function processIdentity(pid: number): Promise<ProcessIdentity | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ESRCH") throw error;
    return process.platform === "linux" || !answersSignals(pid) ? undefined : { pid, startTicks: 0 };
  }
  // The name in brackets may hold spaces and brackets itself; what follows the last one is fixed: state, …, start time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  if (state === "Z" || state === "X") return undefined;
  return { pid, startTicks: Number(fields[19]) };
}

/** Whether exactly this process still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await processIdentity(identity.pid))?.startTicks === identity.startTicks;
}

function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH: no such process.
    return false;
  }
}
