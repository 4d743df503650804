import { pause } from "#daemon/time.ts";
import { readStart, startPrecisionMs, type NodeDriver, type NodeStart } from "../drivers/driver.ts";

/** What a look at the node's process shows. */
export type ProcessLook = NodeStart | "running";

/** Looks at the process that was started. */
export type LookAtProcess = (signal: AbortSignal) => Promise<ProcessLook>;

/** How the node's process is watched after a restart. */
type ProcessWatchOptions = Readonly<{
  /** Whether it is known to have run at the beginning: one that does not then has ended. */
  hasRun: boolean;
  signal: AbortSignal;
}>;

/** What is known of a process that was just started. Disposing of it ends the looks. */
type ProcessWatch = AsyncDisposable &
  Readonly<{
    /** Whether the process that ran after the restart is known to have ended, even if another runs since. */
    hasEnded: () => boolean;
  }>;

const lookIntervalMs = 500;

/**
 * Looks again and again at when the node's process started: one that has run, and then does not or is another, has ended. Where
 * the driver does not know, or sees none yet (a pod that waits for its machine), nothing is known.
 */
export function watchProcess(lookAt: LookAtProcess | undefined, { hasRun, signal }: ProcessWatchOptions): ProcessWatch {
  const closing = new AbortController();
  const until = AbortSignal.any([signal, closing.signal]);
  let firstStartMs: number | undefined;
  let wasSeen = hasRun;
  let hasEnded = false;
  const see = (start: ProcessLook) => {
    if (start === "not-running") hasEnded = wasSeen;
    else if (start !== "unknown") wasSeen = true;
    if (typeof start !== "number") return;
    firstStartMs ??= start;
    // Two starts that are closer to each other are the same one.
    hasEnded = start > firstStartMs + startPrecisionMs;
  };
  const looks = async (look: LookAtProcess) => {
    while (!until.aborted) {
      const start = await look(until);
      if (until.aborted) return;
      see(start);
      if (hasEnded) return;
      await pause(lookIntervalMs, until);
    }
  };
  const done = lookAt === undefined ? Promise.resolve() : looks(lookAt);
  // What fails is thrown to the owner when it disposes of the watch, not to nobody meanwhile.
  done.catch(() => undefined);
  return {
    hasEnded: () => hasEnded,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await done;
    },
  };
}

/**
 * Gets ready, before a restart, to look at the process that it starts: by when it started, where the driver knows that; by what its supervisor says;
 * or by the processes that appear with the restart. A shell that somebody has open in the node's directory was there before, and is not the node.
 * Undefined where the driver sees nothing.
 */
export async function prepareProcessLook(driver: NodeDriver): Promise<LookAtProcess | undefined> {
  const { startedAt, runs, processes } = driver;
  if (startedAt !== undefined) return (signal) => readStart(driver, signal);
  if (runs !== undefined) {
    return async (signal) => {
      const isRunning = await runs(signal);
      return isRunning === "unknown" ? isRunning : isRunning ? "running" : "not-running";
    };
  }
  return processes === undefined ? undefined : appearing(processes, await processes());
}

function appearing(processes: NonNullable<NodeDriver["processes"]>, before: readonly number[]): LookAtProcess {
  let areVisible = false;
  return async () => {
    const now = await processes();
    const appeared = now.some((pid) => !before.includes(pid));
    // Where the old one was seen to go, or a new one to come, that none is there now means that it has ended.
    areVisible ||= appeared || before.some((pid) => !now.includes(pid));
    if (appeared) return "running";
    return areVisible ? "not-running" : "unknown";
  };
}
