import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createProcessLock } from "#daemon/files/process-lock.ts";
import { findRecordedProcess, recordProcess } from "#daemon/recorded-process.ts";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import { StartupError } from "#daemon/process/startup-error.ts";

/** Finds the node process that runs in a workspace; undefined if none does. Ignores the file left by a killed node. */
export function findRunningNode(runDirectory: string): Promise<ProcessIdentity | undefined> {
  return findRecordedProcess(locatePidFile(runDirectory));
}

/**
 * Makes this process the workspace's node until the result is disposed of. Two nodes would corrupt each other's chain, so a lock guards the
 * workspace; the kernel releases the lock if the process is killed. The process id file is only for `ops`.
 *
 * @throws {StartupError} when another process is the workspace's node.
 */
export async function claimWorkspace(runDirectory: string): Promise<AsyncDisposable> {
  const lockPath = join(runDirectory, "node.lock");
  const lock = createProcessLock(lockPath, runDirectory);
  const locked = lock.acquire();
  if (!locked.ok) {
    const why = "why" in locked ? `${lockPath} can't be locked: ${locked.why}` : `it holds ${lockPath}`;
    throw new StartupError(
      `another process runs the node of this workspace (${why}); stop it first: \`./ops stop --force\` in its directory.`,
    );
  }
  await recordProcess(locatePidFile(runDirectory), process.pid);
  return {
    [Symbol.asyncDispose]: async () => {
      await rm(locatePidFile(runDirectory), { force: true });
      lock[Symbol.dispose]();
    },
  };
}

function locatePidFile(runDirectory: string): string {
  return join(runDirectory, "node.pid");
}
