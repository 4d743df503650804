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

/** Deadlines of a restart's proof, and the node.conf that it is made with. */
export type ProvedRestart = VerificationOptions & Readonly<{ configPath: string; configLimitBytes: number }>;

export type ProveRestartDependencies = VerificationDependencies &
  Readonly<{
    /** Limits calls of the file system that holds node.conf. */
    fileDeadline: FileDeadline;
    /** Records each start and its end: several failed starts may say something about the data. */
    starts: StartRecorder;
    log: Logger;
  }>;

/** Reads the node.conf that the node starts with, or started with. */
export function readConfig(
  { configPath, configLimitBytes }: Pick<ProvedRestart, "configPath" | "configLimitBytes">,
  { fileDeadline }: Pick<ProveRestartDependencies, "fileDeadline">,
): Promise<ConfigReading> {
  return readWithDeadline(configPath, configLimitBytes, fileDeadline);
}

/** Restarts the node and proves that it is back; any error counts as a failed start. Each start is recorded with its end. */
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
  // The process of a start that an earlier sidecar made was not watched.
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
    // Whatever it was, the node was told to stop: it is rolled back, like any failed start.
    if (!(error instanceof DriverError)) {
      dependencies.log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    const afterMs = dependencies.clock.monotonicMs() - beganMs;
    return { ok: false, message, end: judgeExitStatus(error.startStatus, afterMs) };
  }
}

/** First status that means that the program was not found, could not be run, or was ended by a signal (POSIX, "Exit Status for Commands"). */
const ownStatusesEnd = 126;

/** Judges a failed start command by its exit status: one of its own means that it has waited for the node, which did not start. */
function judgeExitStatus(status: number | undefined, afterMs: number): StartEnd | undefined {
  return status !== undefined && status > 0 && status < ownStatusesEnd ? { kind: "ended", afterMs } : undefined;
}

/**
 * Restarts the node. A person who starts it at the very moment when it is stopped makes the start command fail; the process that they started has
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
