/** A restart command that has ended well, as far as its status shows. */
export type RestartReport = Readonly<{
  /** Standard error of its programs: some end with status 0 whatever happened. */
  complaint?: string;
}>;

/** Way to the node's process. */
export type NodeDriver = Readonly<{
  /** As in the setting `restart.driver`. */
  name: string;
  /**
   * Stops the node and starts it again; resolves when the new process was started. A driver that thereby ends the sidecar, too,
   * resolves when `stopping` says so: the restart has been requested, and what comes of it is for the next sidecar to see.
   *
   * @throws {DriverError} when either did not work.
   */
  restart: (signal: AbortSignal, stopping?: AbortSignal) => Promise<RestartReport>;
  /** Stops the node and leaves it stopped; absent if the driver can't. A node that does not run may be an error. @throws {DriverError} */
  stop?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Starts a node that does not run. @throws {DriverError} */
  start?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Reads when the node's process started (wall clock), as far as the driver can tell. */
  startedAt?: (signal: AbortSignal) => Promise<NodeStart>;
  /** Finds the processes that may be the node's; none, too, if they are hidden from the sidecar. */
  processes?: () => Promise<readonly number[]>;
  /** Checks whether the node runs now, for a supervisor that says no more than that. */
  runs?: (signal: AbortSignal) => Promise<boolean | "unknown">;
  /** Explains why it could do nothing now, as far as that is seen without trying; without a full stop. */
  problem?: () => Promise<string | undefined>;
  /** Reads the id of the running instance, another after each restart: a sidecar that ended with the node sees by it whether the restart happened. */
  instanceId?: (signal: AbortSignal) => Promise<string | undefined>;
}>;

/** Reads the id of the running instance; undefined if the driver knows none or does not reach the node. */
export async function readInstanceId(driver: NodeDriver, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await driver.instanceId?.(signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // The restart itself says that the driver does not reach the node.
    return undefined;
  }
}

/** Time by which a process may have started later than reported: Kubernetes reports a container's start in whole seconds. */
export const startPrecisionMs = 1_000;

/** Start of the node's process (wall clock, ms). */
export type NodeStart = number | "not-running" | "unknown";

/** Start of a node in relation to node.conf's content: `after`, so that the node has read it, or `before`, so that it has not. */
export type NodeBegan = "after" | "before" | "unknown";

/** Reads `startedAt`; `unknown` if the driver lacks it or does not reach the node. */
export async function readStart(driver: NodeDriver | undefined, signal: AbortSignal): Promise<NodeStart> {
  try {
    return (await driver?.startedAt?.(signal)) ?? "unknown";
  } catch (error) {
    if (!(error instanceof DriverError) && !signal.aborted) throw error;
    // The restart itself says that the driver does not reach the node.
    return "unknown";
  }
}

/** A restart that did not work: what was tried and what came of it. */
export class DriverError extends Error {
  override readonly name: string = "DriverError";
  readonly code: "restart_failed" | "start_failed" = "restart_failed";
  /** Exit status of the command that starts the node; undefined if it did not end by itself, or the driver has no such command. */
  readonly startStatus: number | undefined;

  constructor(message: string, options: ErrorOptions & Readonly<{ startStatus?: number | undefined }> = {}) {
    super(message, options);
    this.startStatus = options.startStatus;
  }
}

/** The old process was stopped, and only the start did not work: what runs now, if anything does, was started by somebody else since. */
export class StartFailed extends DriverError {
  override readonly name = "StartFailed";
  override readonly code = "start_failed";
}
