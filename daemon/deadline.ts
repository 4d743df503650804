/** A wait that took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly code = "deadline_exceeded";

  constructor(what: string, deadlineMs: number) {
    super(`${what} took longer than ${deadlineMs} ms`);
  }
}

/**
 * Waits for `work`, but no longer than `deadlineMs`.
 *
 * @throws {DeadlineError} naming `what` when the time is over; `work` itself goes on unless it watches a signal of its own.
 */
export async function within<T>(what: string, deadlineMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, deadlineMs)), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
