import { pause } from "#daemon/time.ts";
import { readStart, startPrecisionMs, type NodeDriver, type NodeStart } from "../drivers/driver.ts";

/** Result of a check of the node's process. `ended`: the process was seen before this watch started, and has exited. */
export type ProcessCheck = NodeStart | "running" | "ended";

/** Checks the process that a restart started. */
export type CheckedProcess = (signal: AbortSignal) => Promise<ProcessCheck>;

type ProcessWatchOptions = Readonly<{
  /** Whether the process is known to have been running at first; in that case, if it isn't visible now, it has exited. */
  hasRun: boolean;
  signal: AbortSignal;
}>;

const pollIntervalMs = 500;

/**
 * Polls the start time of the node's process. A process has exited if it was seen and is later missing or replaced. If the driver doesn't
 * know the process, or sees none yet (a pod waiting for its machine), nothing is known. Disposing of the watch stops the polling.
 */
export function watchProcess(lookAt: CheckedProcess | undefined, { hasRun, signal }: ProcessWatchOptions) {
  const closing = new AbortController();
  const until = AbortSignal.any([signal, closing.signal]);
  let firstStartMs: number | undefined;
  let wasSeen = hasRun;
  let hasEnded = false;
  const see = (start: ProcessCheck) => {
    if (start === "ended" || start === "not-running") hasEnded = wasSeen || start === "ended";
    else if (start !== "unknown") wasSeen = true;
    if (typeof start !== "number") return;
    firstStartMs ??= start;
    // Start times that differ by no more than this precision count as the same start.
    hasEnded = start > firstStartMs + startPrecisionMs;
  };
  const lookUntilEnded = async (check: CheckedProcess) => {
    while (!until.aborted) {
      const start = await check(until);
      if (until.aborted) return;
      see(start);
      if (hasEnded) return;
      await pause(pollIntervalMs, until);
    }
  };
  const done = lookAt === undefined ? Promise.resolve() : lookUntilEnded(lookAt);
  // An error is thrown to the owner on disposal; until then, it must not become an unhandled rejection.
  done.catch(() => undefined);
  return {
    /** Whether the process that ran after the restart is known to have exited, even if another process has run since. */
    hasEnded: () => hasEnded,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await done;
    },
  };
}

/**
 * Prepares, before a restart, the check of the process that the restart starts. The process is identified by its start time, if the driver
 * knows it; by its supervisor's report; or as one of the processes that appear with the restart. A shell that is already open in the node's
 * directory isn't the node. Returns undefined if the driver sees nothing.
 */
export async function prepareProcessCheck(driver: NodeDriver): Promise<CheckedProcess | undefined> {
  const { startedAt, runs, processes } = driver;
  if (startedAt !== undefined) return (signal) => readStart(driver, signal);
  if (runs !== undefined) {
    return async (signal) => {
      const isRunning = await runs(signal);
      return isRunning === "unknown" ? isRunning : isRunning ? "running" : "not-running";
    };
  }
  return processes === undefined ? undefined : createNewProcessLook(processes, await processes());
}

/**
 * Checks the process after a restart by an earlier sidecar, which recorded that these processes are not its own.
 * Undefined if that sidecar recorded none, or if the driver sees no processes.
 */
export function prepareCheckExcept(
  bystanders: readonly number[] | undefined,
  { processes }: Pick<NodeDriver, "processes">,
): CheckedProcess | undefined {
  if (bystanders === undefined || processes === undefined) return undefined;
  return async () => ((await processes()).some((pid) => !bystanders.includes(pid)) ? "running" : "ended");
}

function createNewProcessLook(
  processes: NonNullable<NodeDriver["processes"]>,
  before: readonly number[],
): CheckedProcess {
  let areVisible = false;
  return async () => {
    const now = await processes();
    const appeared = now.some((pid) => !before.includes(pid));
    // If the old process was seen to disappear, or a new one to appear, then seeing none now means that the process has exited.
    areVisible ||= appeared || before.some((pid) => !now.includes(pid));
    if (appeared) return "running";
    return areVisible ? "not-running" : "unknown";
  };
}
