/**
 * Ends the process with this status, also while a call of a file system hangs: `process.exit` waits for the thread of each such call, so
 * that only SIGKILL would end a process beside a dead NFS server. A new program in the process's place ends its threads whatever
 * they wait for.
 */
export function endProcess(status: number): never {
  const waitsForFile = process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"));
  // Windows has no execve; there the process waits.
  if (waitsForFile && process.execve !== undefined) {
    process.execve(process.execPath, [process.execPath, "--eval", `process.exitCode = ${status}`], {});
  }
  process.exit(status);
}
