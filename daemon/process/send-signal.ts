/**
 * Sends a signal to a process, or to a process group if the number is negative. Does nothing if the target doesn't exist or belongs to
 * another user: a caller that waits for the exit notices that itself.
 *
 * @throws {Error} for a signal unknown to the system.
 */
export function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
