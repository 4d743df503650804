import { readFile } from "node:fs/promises";
import { DriverError, StartFailedError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import { failedStartsStored, type DataEvidence, type FailedStart } from "../state/data-evidence.ts";
import type { RestartContext } from "./restart-context.ts";
import {
  restartAndVerify,
  waitForResponse,
  type Restart,
  type StartEnd,
  type Verification,
} from "./restart-verification.ts";

/** Restarts the node and verifies its recovery; any error counts as a failed start. Records each start with its outcome. */
export async function verifyRestart(restart: Restart, context: RestartContext): Promise<Verification> {
  const { place, signal } = context;
  const before = await place.read();
  const record = await recordStart(context);
  const verified = await restartOrExplain(restart, context);
  const after = await place.read();
  const configHash = before.contentHash === after.contentHash ? before.contentHash : undefined;
  // If an earlier sidecar started the node, the process was not watched.
  const isUnseen = restart.isAlreadyCommanded === true && !verified.ok && verified.end === undefined;
  if (!signal.aborted && !isUnseen) await record(verified, configHash);
  return verified;
}

async function restartOrExplain(restart: Restart, context: RestartContext): Promise<Verification> {
  const { clock, log } = context;
  const beganMs = clock.monotonicMs();
  try {
    return await restartAndVerify(restart, context);
  } catch (error) {
    const { message } = error as Error;
    // Whatever the error, the node was told to stop, so the restart is rolled back like any failed start.
    if (!(error instanceof DriverError)) {
      log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    return { ok: false, message, end: judgeExitStatus(error.startStatus, clock.monotonicMs() - beganMs) };
  }
}

/** First exit status that means that the program was not found, could not be run, or was killed by a signal (POSIX, "Exit Status for Commands"). */
const ownStatusesEnd = 126;

/** Interprets a failed start command's exit status. A status of the command's own means that it waited for the node, which didn't start. */
function judgeExitStatus(status: number | undefined, afterMs: number): StartEnd | undefined {
  return status !== undefined && status > 0 && status < ownStatusesEnd ? { kind: "ended", afterMs } : undefined;
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

/**
 * Returns a function that stores the outcome of a start and the hash of its node.conf. A successful start resets the count of failed starts; several in a row may indicate corrupt data. `memoryPath`: where Linux counts the processes that were killed because memory ran out.
 */
export async function recordStart({ state, clock }: RestartContext, memoryPath = "/proc/vmstat") {
  const before = await countOomKills(memoryPath);
  return async (verified: Verification, configHash: string | undefined): Promise<void> => {
    const known = state.dataEvidence.get() ?? { failedStarts: [] };
    if (verified.ok) return state.dataEvidence.set(forgetStarts(known));
    const { message } = verified;
    const end = hasRunNothing(message) ? undefined : verified.end;
    const lackedMemory = (await countOomKills(memoryPath)) > before;
    const afterMs = end?.kind === "ended" ? end.afterMs : undefined;
    const start: FailedStart = { atMs: clock.wallMs(), kind: end?.kind, afterMs, configHash, message, lackedMemory };
    state.dataEvidence.set({ ...known, failedStarts: [...known.failedStarts, start].slice(-failedStartsStored) });
  };
}

/** Messages from systems, shells and programs that couldn't run another program (execve(2); POSIX, "Exit Status for Commands"). */
const notRun =
  /fork\/exec |exec format error|command not found|: not found|executable file not found|cannot execute|status 12[67]\b/i;

/** Whether a failed start reports that it couldn't run a program. Such a start says nothing about the data, whatever its exit status. */
function hasRunNothing(message: string): boolean {
  return notRun.test(message);
}

export function forgetStarts(known: DataEvidence): DataEvidence {
  return { ...known, failedStarts: [] };
}

/** Counts the processes that Linux has killed since boot because memory ran out (`oom_kill` in proc_vmstat(5)); 0 if Linux doesn't count them. */
async function countOomKills(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}
