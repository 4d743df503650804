/** Report of a restart command that succeeded according to its exit status. */
export type RestartReport = Readonly<{
  /** Standard error of its programs: some exit with status 0 even on failure. */
  complaint?: string;
}>;

/** Access to the node's process. */
export type NodeDriver = Readonly<{
  /** Same name as in the setting `restart.driver`. */
  name: string;
  /**
   * Stops the node and starts it again; resolves once the new process is started. A driver that also stops the sidecar thereby resolves
   * when `stopping` is aborted: the restart is requested, and the next sidecar sees its outcome.
   *
   * @throws {DriverError} when the stop or the start failed.
   */
  restart: (signal: AbortSignal, stopping?: AbortSignal) => Promise<RestartReport>;
  /** Stops the node and leaves it stopped; absent if the driver can't. May throw if the node isn't running. @throws {DriverError} */
  stop?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Starts a stopped node. @throws {DriverError} */
  start?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Reads the start time of the node's process (wall clock), as far as the driver knows it. */
  startedAt?: (signal: AbortSignal) => Promise<NodeStart>;
  /** Finds the possible processes of the node; also empty if they are hidden from the sidecar. */
  processes?: () => Promise<readonly number[]>;
  /** Checks whether the node is running now, for a supervisor that reports nothing else. */
  runs?: (signal: AbortSignal) => Promise<boolean | "unknown">;
  /** Explains why the driver can't act now, as far as it can tell without trying; without a full stop. */
  problem?: () => Promise<string | undefined>;
  /**
   * Reads the id of the running instance, which changes at each restart: a sidecar that was stopped with the node uses it to detect whether
   * the restart happened.
   */
  instanceId?: (signal: AbortSignal) => Promise<string | undefined>;
}>;

/** Reads the id of the running instance; undefined if the driver knows none or can't reach the node. */
export async function readInstanceId(driver: NodeDriver, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await driver.instanceId?.(signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // The restart itself reports that the driver can't reach the node.
    return undefined;
  }
}

/** Max delay of a process's actual start after the reported one: Kubernetes reports a container's start in whole seconds. */
export const startPrecisionMs = 1_000;

/** Start of the node's process (wall clock, ms). */
export type NodeStart = number | "not-running" | "unknown";

/** Start of a node relative to node.conf's content: `after`, so that the node has read it, or `before`, so that it hasn't. */
export type NodeStarted = "after" | "before" | "unknown";

/** Reads `startedAt`; `unknown` if the driver lacks it or can't reach the node. */
export async function readStart(driver: NodeDriver | undefined, signal: AbortSignal): Promise<NodeStart> {
  try {
    return (await driver?.startedAt?.(signal)) ?? "unknown";
  } catch (error) {
    if (!(error instanceof DriverError) && !signal.aborted) throw error;
    // The restart itself reports that the driver can't reach the node.
    return "unknown";
  }
}

/** Failed restart: the attempted command and its outcome. */
export class DriverError extends Error {
  override readonly name: string = "DriverError";
  readonly code: "restart_failed" | "start_failed" = "restart_failed";
  /** Exit status of the node's start command; undefined if it didn't exit by itself, or the driver has no such command. */
  readonly startStatus: number | undefined;

  constructor(message: string, options: ErrorOptions & Readonly<{ startStatus?: number | undefined }> = {}) {
    super(message, options);
    this.startStatus = options.startStatus;
  }
}

/** Failure of the start after the old process was stopped: any process that runs now was started by somebody else since. */
export class StartFailed extends DriverError {
  override readonly name = "StartFailed";
  override readonly code = "start_failed";
}
