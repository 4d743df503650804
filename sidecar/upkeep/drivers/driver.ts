/** A restart command that has ended well, as far as its status shows. */
export type RestartReport = Readonly<{
  /** What its programs wrote to their standard error all the same: some end with status 0 whatever happened. */
  complaint?: string;
}>;

/** Reaches the node's process. */
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
  /** Stops the node and leaves it stopped, where the driver can. A node that does not run may be an error. @throws {DriverError} */
  stop?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Starts a node that does not run. @throws {DriverError} */
  start?: (signal: AbortSignal) => Promise<RestartReport>;
  /** When the node's process started (wall clock), as far as the driver can tell. */
  startedAt?: (signal: AbortSignal) => Promise<NodeStart>;
  /** Processes that may be the node's, as far as they are seen: none, too, where they are hidden from the sidecar. */
  processes?: () => Promise<readonly number[]>;
  /** Whether the node runs now, where its supervisor says that and nothing more. */
  runs?: (signal: AbortSignal) => Promise<boolean | "unknown">;
  /** Why it could do nothing now, as far as that is seen without trying; without a full stop. */
  problem?: () => Promise<string | undefined>;
  /** The id of the running instance, another after each restart: a sidecar that ended with the node sees by it whether the restart happened. */
  instanceId?: (signal: AbortSignal) => Promise<string | undefined>;
}>;

/** The id of the running instance; undefined where the driver knows none or does not reach the node. */
export async function readInstanceId(driver: NodeDriver, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await driver.instanceId?.(signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // The restart itself says that the driver does not reach the node.
    return undefined;
  }
}

/** How much later than reported a process may have started: Kubernetes reports a container's start in whole seconds. */
export const startPrecisionMs = 1_000;

/** When the node's process started. */
export type NodeStart = number | "not-running" | "unknown";

/** Whether a node began after node.conf had its content, and so has read it, or before, and so has not; or nobody can tell. */
export type NodeBegan = "after" | "before" | "unknown";

/** What `startedAt` says, or `unknown` where the driver has no such thing or does not reach the node. */
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
  /** The status with which the command that starts the node ended by itself; absent where it did not, or the driver has none. */
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
