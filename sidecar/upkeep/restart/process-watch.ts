import { pause } from "#daemon/time.ts";
import { readStart, startPrecisionMs, type NodeDriver, type NodeStart } from "../drivers/driver.ts";

/** Result of a check of the node's process. `ended`: a process seen before this watch started has exited. */
export type ProcessCheck = NodeStart | "running" | "ended";

export type ProcessChecker = (signal: AbortSignal) => Promise<ProcessCheck>;

type ProcessWatchOptions = Readonly<{
  /** Whether the process is known to have been running at first, so that it has exited if it isn't visible now. */
  hasRun: boolean;
  signal: AbortSignal;
}>;

const pollIntervalMs = 500;

/**
 * A process has exited if it was seen and is later missing or replaced; if it was never seen (a pod waiting for its machine), nothing is
 * known.
 */
export function watchProcess(checkProcess: ProcessChecker | undefined, { hasRun, signal }: ProcessWatchOptions) {
  const closeController = new AbortController();
  const until = AbortSignal.any([signal, closeController.signal]);
  let firstStartMs: number | undefined;
  let wasSeen = hasRun;
  let hasEnded = false;
  const see = (start: ProcessCheck) => {
    if (start === "ended" || start === "not-running") hasEnded = wasSeen || start === "ended";
    else if (start !== "unknown") wasSeen = true;
    if (typeof start !== "number") return;
    firstStartMs ??= start;
    // Start times that differ by no more than this count as the same start.
    hasEnded = start > firstStartMs + startPrecisionMs;
  };
  const pollUntilEnded = async (check: ProcessChecker) => {
    while (!until.aborted) {
      const start = await check(until);
      if (until.aborted) return;
      see(start);
      if (hasEnded) return;
      await pause(pollIntervalMs, until);
    }
  };
  const done = checkProcess === undefined ? Promise.resolve() : pollUntilEnded(checkProcess);
  // An error is thrown to the owner on disposal; until then, it must not become an unhandled rejection.
  done.catch(() => undefined);
  return {
    /** Whether the process that ran after the restart is known to have exited, even if another process has run since. */
    hasEnded: () => hasEnded,
    [Symbol.asyncDispose]: async () => {
      closeController.abort();
      await done;
    },
  };
}

/**
 * Prepares to identify the process that a restart starts: by its start time, by its supervisor's report, or because it first appears after
 * the restart. A shell already open in the directory isn't mistaken for the node. Returns undefined if the driver can't see processes.
 */
export async function prepareProcessCheck(driver: NodeDriver): Promise<ProcessChecker | undefined> {
  const { startedAt, runs, processes } = driver;
  if (startedAt !== undefined) return (signal) => readStart(driver, signal);
  if (runs !== undefined) {
    return async (signal) => {
      const isRunning = await runs(signal);
      return isRunning === "unknown" ? isRunning : isRunning ? "running" : "not-running";
    };
  }
  return processes === undefined ? undefined : createNewProcessCheck(processes, await processes());
}

/** Checks the process of an earlier sidecar's restart, which recorded that these processes are not the node's. */
export function prepareCheckExcluding(
  bystanders: readonly number[] | undefined,
  { processes }: Pick<NodeDriver, "processes">,
): ProcessChecker | undefined {
  if (bystanders === undefined || processes === undefined) return undefined;
  return async () => ((await processes()).some((pid) => !bystanders.includes(pid)) ? "running" : "ended");
}

function createNewProcessCheck(
  processes: NonNullable<NodeDriver["processes"]>,
  pidsBefore: readonly number[],
): ProcessChecker {
  let areVisible = false;
  return async () => {
    const now = await processes();
    const hasNewProcess = now.some((pid) => !pidsBefore.includes(pid));
    // If the old process was seen to disappear, or a new one to appear, then seeing none now means that the process has exited.
    areVisible ||= hasNewProcess || pidsBefore.some((pid) => !now.includes(pid));
    if (hasNewProcess) return "running";
    return areVisible ? "not-running" : "unknown";
  };
}
