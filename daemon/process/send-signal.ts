/**
 * Signals a process, or with a negative number its group, if it exists and belongs to this user: a caller that waits for its exit notices
 * otherwise.
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
