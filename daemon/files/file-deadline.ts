import { stat } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import { pause, pauseWhileRunning } from "../time.ts";

/** A file system that doesn't respond: its server is unreachable (NFS), or its daemon hangs (FUSE). */
export class HangingFileSystem extends Error {
  override readonly name = "HangingFileSystem";
  readonly code = "file_system_hangs";
}

/** Skips a call to a file system that hangs; rethrows any other error. */
export function skipHanging(error: unknown): undefined {
  if (!(error instanceof HangingFileSystem)) throw error;
}

/** Explains, without a full stop, that the file system of a path hangs; undefined if it doesn't, even if the path doesn't exist. */
export async function explainHanging(
  path: string,
  deadline: FileDeadline,
  what = `checking ${path}`,
): Promise<string | undefined> {
  try {
    await deadline.call(what, () => stat(path).catch(() => undefined));
    return undefined;
  } catch (error) {
    if (error instanceof HangingFileSystem) return error.message;
    throw error;
  }
}

/**
 * Calls to one file system, any of which may never return. While a call is overdue, no other call starts, because each would occupy another
 * thread of Node's small thread pool (`UV_THREADPOOL_SIZE`, set by `cli/launch.js`). With no thread left, everything else would block.
 */
export type FileDeadline = Readonly<{
  /**
   * Waits for a call; `what` describes it, as in "reading /a/node.conf".
   *
   * @throws {HangingFileSystem} when the call times out, or while an earlier call is overdue.
   * @throws any error that the call itself throws.
   */
  call: <T>(what: string, call: () => Promise<T>) => Promise<T>;
  /** Whether a call is overdue. */
  hangs: () => boolean;
}>;

/** Time that a shutdown waits for a call in flight. */
const stopWithinMs = 1_000;

type Overdue = Readonly<{ what: string; since: string }>;

export function createFileDeadline(
  { withinMs, signal }: Readonly<{ withinMs: number; signal: AbortSignal }>,
  { clock, onBack }: Readonly<{ clock: Clock; onBack: () => void }>,
): FileDeadline {
  const overdue = new Set<Overdue>();
  const fail = ({ what, since }: Overdue) =>
    new HangingFileSystem(
      `${what} has hung since ${since} (limit: ${withinMs} ms): the file system does not respond. ` +
        "Check its server or disk (stat -f, dmesg), or remount it",
    );
  return {
    hangs: () => overdue.size > 0,
    call: async (what, call) => {
      const [first] = overdue;
      if (first !== undefined) throw fail(first);
      const late = { what, since: new Date(clock.wallMs()).toISOString() };
      const over = new AbortController();
      const made = call().finally(() => over.abort());
      // Time during which this process was suspended doesn't count: the file system may have responded long ago.
      await Promise.race([made, pauseWhileRunning(withinMs, AbortSignal.any([over.signal, signal]))]);
      if (signal.aborted) await Promise.race([made, pause(Math.min(withinMs, stopWithinMs), over.signal)]);
      if (over.signal.aborted) return made;
      overdue.add(late);
      void made
        .catch(() => undefined)
        .finally(() => {
          overdue.delete(late);
          onBack();
        });
      throw fail(late);
    },
  };
}
