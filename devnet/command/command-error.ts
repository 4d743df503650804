/** Ends a command with a message for the person who typed it. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "command_failed";
  /** 1: it could not be done; 2: it was not typed as it has to be. */
  readonly exitStatus: 1 | 2;

  constructor(message: string, exitStatus: 1 | 2, options?: ErrorOptions) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}
