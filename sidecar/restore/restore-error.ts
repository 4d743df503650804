/** A restore that can't be done; `message` says what was found, where, and what to do. */
export class RestoreError extends Error {
  override readonly name = "RestoreError";
  readonly code = "restore_failed";
  /** Whether trying again can help. */
  readonly retryable: boolean;

  constructor(message: string, { retryable = false, cause }: Readonly<{ retryable?: boolean; cause?: unknown }> = {}) {
    super(message, { cause });
    this.retryable = retryable;
  }
}
