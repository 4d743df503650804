export type RestartReport = Readonly<{
  /** Standard error from the driver's programs: some exit with status 0 even on failure. */
  failureOutput?: string;
}>;

export type NodeDriver = Readonly<{
  name: string;
  /** Resolves once the new process is started or, if the restart also stops the sidecar, `stopping` is aborted. @throws {DriverError} */
  restart: (signal: AbortSignal, stopping?: AbortSignal) => Promise<RestartReport>;
  /** Stops the node and leaves it stopped; absent if the driver can't do that. May throw if the node isn't running. @throws {DriverError} */
  stop?: (signal: AbortSignal) => Promise<RestartReport>;
  /** Starts a stopped node. @throws {DriverError} */
  start?: (signal: AbortSignal) => Promise<RestartReport>;
  startedAt?: (signal: AbortSignal) => Promise<NodeStart>;
  /** Finds the processes that may be the node's; also empty if they are hidden from the sidecar. */
  processes?: () => Promise<readonly number[]>;
  /** Checks whether the node is running now, for supervisors that provide no other information. */
  runs?: (signal: AbortSignal) => Promise<boolean | "unknown">;
  /** The command that starts a stopped container. Absent if the sidecar starts a node whose process is gone, or if its supervisor does. */
  startCommand?: () => string;
  /** Explains why the driver can't act now, if that can be determined without trying; without a full stop. */
  problem?: () => Promise<string | undefined>;
  /**
   * Id of the running instance, which changes at each restart, so that a sidecar that was stopped with the node can tell that the restart
   * happened.
   */
  instanceId?: (signal: AbortSignal) => Promise<string | undefined>;
}>;

export async function readInstanceId(driver: NodeDriver, signal: AbortSignal): Promise<string | undefined> {
  return await driver.instanceId?.(signal).catch(skipUnreachable);
}

/** Max delay between a process's reported start and its actual start: Kubernetes reports a container's start in whole seconds. */
export const startPrecisionMs = 1_000;

/** Start time of the node's process (wall clock, ms). */
export type NodeStart = number | "not-running" | "unknown";

/** When the node started, relative to node.conf's content. `after`: the node has read the content; `before`: it hasn't. */
export type NodeStarted = "after" | "before" | "unknown";

export async function readStart(driver: NodeDriver | undefined, signal: AbortSignal): Promise<NodeStart> {
  const nodeStart = await driver?.startedAt?.(signal).catch((error: unknown) => {
    if (!signal.aborted) skipUnreachable(error);
    return undefined;
  });
  return nodeStart ?? "unknown";
}

/** Rethrows an error unless it means that the driver can't reach the node, which the restart itself reports. */
function skipUnreachable(error: unknown): undefined {
  if (!(error instanceof DriverError)) throw error;
}

export class DriverError extends Error {
  override readonly name: string = "DriverError";
  readonly code: "restart_failed" | "start_failed" = "restart_failed";
  /** Exit status of the start command; undefined if it didn't exit by itself or there is none. */
  readonly startStatus: number | undefined;

  constructor(message: string, options: ErrorOptions & Readonly<{ startStatus?: number | undefined }> = {}) {
    super(message, options);
    this.startStatus = options.startStatus;
  }
}

/** The start failed after the old process was stopped, so any process running now was started by another program or user. */
export class StartFailedError extends DriverError {
  override readonly name = "StartFailed";
  override readonly code = "start_failed";
}
