import { DriverError, StartFailedError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import { failedStartsMax } from "../state/data-evidence.ts";
import type { RestartContext } from "./restart-context.ts";
import { restartAndVerify, waitForResponse, type Restart, type Verification } from "./restart-verification.ts";

/** Restarts the node and verifies its recovery; any error counts as a failed start. Records each start with its outcome. */
export async function verifyRestart(restart: Restart, context: RestartContext): Promise<Verification> {
  const verified = await restartOrExplain(restart, context);
  if (!context.signal.aborted) recordStart(verified, context);
  return verified;
}

async function restartOrExplain(restart: Restart, context: RestartContext): Promise<Verification> {
  try {
    return await restartAndVerify(restart, context);
  } catch (error) {
    const { message } = error as Error;
    // Whatever the error, the node was told to stop, so the restart is rolled back like any failed start.
    if (!(error instanceof DriverError)) {
      context.log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    return { ok: false, message, hasEnded: isOwnStatus(error.startStatus) };
  }
}

/** First exit status that means that the program was not found, could not be run, or was killed by a signal (POSIX, "Exit Status for Commands"). */
const shellStatusMin = 126;

/** Whether a failed start command's exit status is its own, which means that it waited for the node, which didn't start. */
function isOwnStatus(status = 0): boolean {
  return status > 0 && status < shellStatusMin;
}

/** If an operator starts the node right after the stop, the start command fails; that process read the same file, and is verified instead. */
export async function restartNode(driver: NodeDriver, context: RestartContext): Promise<RestartReport> {
  // The command isn't killed when the sidecar stops, because a stopped node would stay down. The command has its own time limit.
  const signal = new AbortController().signal;
  try {
    return await driver.restart(signal, context.signal);
  } catch (error) {
    if (!(error instanceof StartFailedError)) throw error;
    if (!(await waitForResponse(signal, context))) throw error;
    const message = `The sidecar could not start the node, but another program or user did. ${error.message}`;
    context.events.add("restart", message, undefined, { by: "somebody else", outcome: "success" });
    return {};
  }
}

/** Stores a start after which the process exited: several in a row may indicate corrupt data. A successful start resets them. */
export function recordStart(
  verified: Verification,
  { state: { dataEvidence }, clock }: Pick<RestartContext, "state" | "clock">,
): void {
  const known = dataEvidence.get() ?? { failedStarts: [] };
  if (verified.ok) return dataEvidence.set({ ...known, failedStarts: [] });
  const { message, hasEnded } = verified;
  if (hasEnded !== true || hasRunNothing(message)) return;
  const failedStarts = [...known.failedStarts, { atMs: clock.wallMs(), message }].slice(-failedStartsMax);
  dataEvidence.set({ ...known, failedStarts });
}

/** Messages from systems, shells and programs that couldn't run another program (execve(2); POSIX, "Exit Status for Commands"). */
const notRun =
  /fork\/exec |exec format error|command not found|: not found|executable file not found|cannot execute|status 12[67]\b/i;

/** Whether a failed start reports that it couldn't run a program. Such a start says nothing about the data, whatever its exit status. */
function hasRunNothing(message: string): boolean {
  return notRun.test(message);
}
