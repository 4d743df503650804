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
 * Reads when a process was started, as a text that no other process with its id ever has; undefined if it has ended.
 *
 * @throws {Error} if this machine does not report it.
 */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  const { bootId } = bootTime();
  if (bootId === undefined) return await readStartByPs(pid);
  const fields = await readStatFields(pid);
  // A zombie has ended; only its parent has not read its exit status yet.
  return fields === undefined || fields[stateField] === "Z" ? undefined : `${bootId} ${fields[startField]}`;
}

/** Reads the fields of /proc/<pid>/stat after the program's name; undefined if the process is gone. */
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

/** Reads the start of a process by `ps`, for machines without /proc. */
async function readStartByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)], { timeout: psMs });
    return stdout.trim() || undefined;
  } catch (error) {
    // ps ends with 1 if there is no such process.
    if ((error as { code?: unknown }).code === 1) return undefined;
    throw error;
  }
}
