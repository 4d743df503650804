import { pause } from "../../poll.ts";
import type { NodeStart } from "../drivers/driver.ts";

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

/** Two starts that are closer to each other are the same one: some drivers tell whole seconds. */
const precisionMs = 1_000;

/**
 * Looks again and again at when the node's process started: one that has run, and then does not or is another, has ended. Where
 * the driver can't tell, or sees none yet (a pod that waits for its machine), nothing is known.
 */
export function watchProcess(
  startedAt: ((signal: AbortSignal) => Promise<NodeStart>) | undefined,
  { hasRun, signal }: ProcessWatchOptions,
): ProcessWatch {
  const closing = new AbortController();
  const until = AbortSignal.any([signal, closing.signal]);
  let firstStartMs: number | undefined;
  let hasEnded = false;
  const see = (start: NodeStart) => {
    if (start === "not-running") hasEnded = hasRun || firstStartMs !== undefined;
    if (typeof start !== "number") return;
    firstStartMs ??= start;
    hasEnded = start > firstStartMs + precisionMs;
  };
  const looks = async (ask: (signal: AbortSignal) => Promise<NodeStart>) => {
    while (!until.aborted) {
      const start = await ask(until);
      if (until.aborted) return;
      see(start);
      if (hasEnded) return;
      await pause(lookIntervalMs, until);
    }
  };
  const done = startedAt === undefined ? Promise.resolve() : looks(startedAt);
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
