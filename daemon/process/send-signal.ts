/**
 * Signals a process, or with a negative number its group, as far as it is there and this user's: whoever waits for its end finds out about one that is not.
 *
 * @throws {Error} for a signal that the system does not know.
 */
export function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
