import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { EventLog } from "#status/event-log.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { readWithDeadline } from "../config/with-deadline.ts";
import { DriverError, StartFailed, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import type { StartRecorder } from "./record-start.ts";
import {
  restartAndVerify,
  waitForAnswer,
  type StartEnd,
  type Verification,
  type VerificationDependencies,
  type VerificationOptions,
} from "./restart-verification.ts";

/** What a restart is proved by, and the node.conf that it is made with. */
export type ProvedRestart = VerificationOptions & Readonly<{ configPath: string; configLimitBytes: number }>;

export type ProveRestartDependencies = VerificationDependencies &
  Readonly<{
    /** For calls of the file system that node.conf is on. */
    fileDeadline: FileDeadline;
    /** Called for each start with how it ended: of several that fail something may be learned of the data. */
    starts: StartRecorder;
    log: Logger;
  }>;

/** Reads what the node is, or was, to start with. */
export function readConfig(
  { configPath, configLimitBytes }: Pick<ProvedRestart, "configPath" | "configLimitBytes">,
  { fileDeadline }: Pick<ProveRestartDependencies, "fileDeadline">,
): Promise<ConfigReading> {
  return readWithDeadline(configPath, configLimitBytes, fileDeadline);
}

/** Restarts the node and proves that it is back; whatever goes wrong counts as a start that failed. Each start is recorded, with how it ended. */
export async function proveRestart(
  restart: () => Promise<RestartReport>,
  incident: ProvedRestart,
  dependencies: ProveRestartDependencies,
): Promise<Verification> {
  const before = await readConfig(incident, dependencies);
  const record = await dependencies.starts.begin();
  const verified = await restartOrSay(restart, incident, dependencies);
  const after = await readConfig(incident, dependencies);
  const configHash = before.contentHash === after.contentHash ? before.contentHash : undefined;
  // Of a start that an earlier sidecar made, how its process fared was not seen.
  const isUnseen = incident.isMade && !verified.ok && verified.end === undefined;
  if (!incident.signal.aborted && !isUnseen) await record(verified, configHash);
  return verified;
}

async function restartOrSay(
  restart: () => Promise<RestartReport>,
  incident: VerificationOptions,
  dependencies: ProveRestartDependencies,
): Promise<Verification> {
  const beganMs = dependencies.clock.monotonicMs();
  try {
    return await restartAndVerify(restart, incident, dependencies);
  } catch (error) {
    const { message } = error as Error;
    // Whatever it was, the node was told to stop: it is gone back from, as from any start that failed.
    if (!(error instanceof DriverError)) {
      dependencies.log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    const afterMs = dependencies.clock.monotonicMs() - beganMs;
    return { ok: false, message, end: endOfCommand(error.startStatus, afterMs) };
  }
}

/** From here on a status says that the program was not found, could not be run, or was ended by a signal (POSIX, "Exit Status for Commands"). */
const ownStatusesEnd = 126;

/** A start command that ran and said by its status that the node did not start: it has waited for the node. */
function endOfCommand(status: number | undefined, afterMs: number): StartEnd | undefined {
  return status !== undefined && status > 0 && status < ownStatusesEnd ? { kind: "ended", afterMs } : undefined;
}

/**
 * Restarts the node. A person who starts it in the very moment in which it is stopped makes the start command fail; what they started has
 * read the same file, so its proof is awaited as if the command had started it.
 */
export async function restartNode(
  { healthyWithinMs, signal: stopping }: Pick<ProvedRestart, "healthyWithinMs" | "signal">,
  dependencies: Pick<VerificationDependencies, "clock" | "look"> & Readonly<{ driver: NodeDriver; events: EventLog }>,
): Promise<RestartReport> {
  // The command is not ended when the sidecar stops: a node that was stopped would stay down. It has its own time limit.
  const neverAborts = new AbortController().signal;
  try {
    return await dependencies.driver.restart(neverAborts, stopping);
  } catch (error) {
    if (
      !(error instanceof StartFailed) ||
      !(await waitForAnswer({ healthyWithinMs, signal: neverAborts }, dependencies))
    )
      throw error;
    dependencies.events.add(
      "restart",
      `The node runs although the sidecar could not start it: somebody else did. ${error.message}`,
      undefined,
      { by: "somebody else", outcome: "success" },
    );
    return {};
  }
}
