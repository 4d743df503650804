import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { bootTime } from "#daemon/clock.ts";

const run = promisify(execFile);
const psMs = 10_000;

/** Fields of /proc/<pid>/stat after the program's name, which may hold anything (proc_pid_stat(5)). */
const stateField = 0;
const startField = 19;

/**
 * When a process was started, in words that no other process with its number ever gets; undefined where it has ended.
 *
 * @throws {Error} where this machine does not say.
 */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  const { bootId } = bootTime();
  if (bootId === undefined) return await queryPs(pid);
  const fields = await readStatFields(pid);
  // A zombie has ended, and only waits for being asked how.
  return fields === undefined || fields[stateField] === "Z" ? undefined : `${bootId} ${fields[startField]}`;
}

/** The fields of /proc/<pid>/stat after the program's name; undefined where the process is gone. */
export async function readStatFields(pid: number): Promise<readonly string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** Where there is no /proc. */
async function queryPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)], { timeout: psMs });
    return stdout.trim() || undefined;
  } catch (error) {
    // ps ends with 1 where there is no such process.
    if ((error as { code?: unknown }).code === 1) return undefined;
    throw error;
  }
}
