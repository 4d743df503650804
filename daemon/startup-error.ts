/**
 * A reason why a service can't start that a person can mend: a taken port, a file that is not there, a chain with another id.
 * The message stands alone: what is wrong, where, what was expected, what to do next.
 */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly code = "startup_failed";
}
