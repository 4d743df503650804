import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { EventLog } from "#status/event-log.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { readConfigWithDeadline } from "../config/with-deadline.ts";
import { DriverError, StartFailedError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import type { StartRecorder } from "./record-start.ts";
import {
  restartAndVerify,
  waitForResponse,
  type StartEnd,
  type Verification,
  type VerificationDependencies,
  type VerificationOptions,
} from "./restart-verification.ts";

/** Deadlines for verifying a restart, and its node.conf. */
export type RestartToVerify = VerificationOptions & Readonly<{ configPath: string; configLimitBytes: number }>;

export type VerifyRestartDependencies = VerificationDependencies &
  Readonly<{
    /** Limits calls to the file system that holds node.conf. */
    fileDeadline: FileDeadline;
    /** Records each start and its outcome: several failed starts may be evidence against the data. */
    starts: StartRecorder;
    log: Logger;
  }>;

/** Reads the node.conf with which the node is or was started. */
export function readConfig({
  configPath,
  configLimitBytes,
  fileDeadline,
}: Readonly<{ configPath: string; configLimitBytes: number; fileDeadline: FileDeadline }>): Promise<ConfigReading> {
  return readConfigWithDeadline(configPath, configLimitBytes, fileDeadline);
}

/** Restarts the node and verifies its recovery; any error counts as a failed start. Records each start with its outcome. */
export async function verifyRestart(
  restart: () => Promise<RestartReport>,
  incident: RestartToVerify,
  dependencies: VerifyRestartDependencies,
): Promise<Verification> {
  const file = { ...incident, fileDeadline: dependencies.fileDeadline };
  const before = await readConfig(file);
  const record = await dependencies.starts.begin();
  const verified = await restartOrExplain(restart, incident, dependencies);
  const after = await readConfig(file);
  const configHash = before.contentHash === after.contentHash ? before.contentHash : undefined;
  // If an earlier sidecar started the node, the process was not watched.
  const isUnseen = incident.isAlreadyCommanded && !verified.ok && verified.end === undefined;
  if (!incident.signal.aborted && !isUnseen) await record(verified, configHash);
  return verified;
}

async function restartOrExplain(
  restart: () => Promise<RestartReport>,
  incident: VerificationOptions,
  dependencies: VerifyRestartDependencies,
): Promise<Verification> {
  const beganMs = dependencies.clock.monotonicMs();
  try {
    return await restartAndVerify(restart, incident, dependencies);
  } catch (error) {
    const { message } = error as Error;
    // Whatever the error, the node was told to stop, so the restart is rolled back like any failed start.
    if (!(error instanceof DriverError)) {
      dependencies.log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    const afterMs = dependencies.clock.monotonicMs() - beganMs;
    return { ok: false, message, end: judgeExitStatus(error.startStatus, afterMs) };
  }
}

/** First exit status that means that the program was not found, could not be run, or was killed by a signal (POSIX, "Exit Status for Commands"). */
const ownStatusesEnd = 126;

/** Judges a failed start command by its exit status. A status of the command's own means that it waited for the node and the node didn't start. */
function judgeExitStatus(status: number | undefined, afterMs: number): StartEnd | undefined {
  return status !== undefined && status > 0 && status < ownStatusesEnd ? { kind: "ended", afterMs } : undefined;
}

/**
 * Restarts the node. If an operator starts the node right after the stop, the start command fails. The process that the operator started has
 * read the same file, so it is verified as if the command had started it.
 */
export async function restartNode(
  incident: RestartToVerify & VerifyRestartDependencies & Readonly<{ driver: NodeDriver; events: EventLog }>,
): Promise<RestartReport> {
  // The command isn't killed when the sidecar stops, because a stopped node would stay down. The command has its own time limit.
  const neverAborts = new AbortController().signal;
  try {
    return await incident.driver.restart(neverAborts, incident.signal);
  } catch (error) {
    if (!(error instanceof StartFailedError)) throw error;
    if (!(await waitForResponse({ ...incident, signal: neverAborts }, incident))) throw error;
    const message = `The sidecar could not start the node, but another program or user did. ${error.message}`;
    incident.events.add("restart", message, undefined, { by: "somebody else", outcome: "success" });
    return {};
  }
}
