/** Reaches the node's process. */
export type NodeDriver = Readonly<{
  /** As in the setting `restart.driver`. */
  name: string;
  /**
   * Stops the node and starts it again; resolves when the new process was started.
   *
   * @throws {DriverError} when either did not work.
   */
  restart: (signal: AbortSignal) => Promise<void>;
  /** When the node's process started (wall clock), as far as the driver can tell. */
  startedAt?: (signal: AbortSignal) => Promise<NodeStart>;
}>;

/** When the node's process started. */
export type NodeStart = number | "not-running" | "unknown";

/** A restart that did not work: what was tried and what came of it. */
export class DriverError extends Error {
  override readonly name: string = "DriverError";
  readonly code: "restart_failed" | "start_failed" = "restart_failed";
}

/** The old process was stopped, and only the start did not work: what runs now, if anything does, was started by somebody else since. */
export class StartFailed extends DriverError {
  override readonly name = "StartFailed";
  override readonly code = "start_failed";
}
