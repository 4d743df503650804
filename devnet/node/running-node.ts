import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { isProcessAlive } from "#daemon/process/send-signal.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { skipMissing } from "#daemon/skip-missing.ts";

const schema = z.object({ pid: z.int().min(1), startTicks: z.int().min(0) });

/** Finds the node process that runs in a workspace; undefined if none does. Ignores the file left by a killed node. */
export async function findRunningNode(runDirectory: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(locatePidFile(runDirectory), "utf8").catch(skipMissing);
  if (text === undefined) return undefined;
  const identity = schema.safeParse(parseJson(text));
  return identity.success && (await isRunning(identity.data)) ? identity.data : undefined;
}

/**
 * Makes this process the workspace's node until the result is disposed of. Two nodes would corrupt each other's chain, so a lock guards the
 * workspace; the kernel releases the lock if the process is killed. The process id file is only for `ops`.
 *
 * @throws {StartupError} when another process is the workspace's node.
 */
export async function claimWorkspace(runDirectory: string): Promise<AsyncDisposable> {
  const lock = takeLock(runDirectory);
  const identity = await readProcessIdentity(process.pid);
  await replaceFile(locatePidFile(runDirectory), JSON.stringify(identity), { mode: 0o644 });
  return {
    [Symbol.asyncDispose]: async () => {
      await rm(locatePidFile(runDirectory), { force: true });
      lock.close();
    },
  };
}

function takeLock(runDirectory: string): DatabaseSync {
  const lock = new DatabaseSync(join(runDirectory, "node.lock"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (cause) {
    lock.close();
    throw new StartupError(
      `another process runs the node of this workspace (it holds ${join(runDirectory, "node.lock")}); stop it first: ./ops stop --force`,
      { cause },
    );
  }
}

function locatePidFile(runDirectory: string): string {
  return join(runDirectory, "node.pid");
}

/** Identifies a process uniquely, even if its process id is reused. */
export type ProcessIdentity = Readonly<{
  pid: number;
  /** Start time, in clock ticks since boot (proc(5), `/proc/<pid>/stat`); 0 without `/proc`. */
  startTicks: number;
}>;

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
  // The name in brackets may contain spaces and brackets; the fields after the last bracket are fixed: state, …, start time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  if (state === "Z" || state === "X") return undefined;
  return { pid, startTicks: Number(fields[19]) };
}

/** Checks whether exactly this process is still running. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await readProcessIdentity(identity.pid))?.startTicks === identity.startTicks;
}
