import type { Clock } from "../clock.ts";
import { pause, pauseWhileRunning } from "../time.ts";

/** A file system that does not answer: its server is gone (NFS), or its daemon hangs (FUSE). */
export class HangingFileSystem extends Error {
  override readonly name = "HangingFileSystem";
  readonly code = "file_system_hangs";
}

/**
 * Calls of one file system, each of which may never come back. While one is overdue no other begins, because each would take one more of
 * the few threads that Node has for files and names (`UV_THREADPOOL_SIZE`, set by `cli/launch.js`), and with the last of them everything else.
 */
export type FileDeadline = Readonly<{
  /**
   * Waits for a call; `what` says what it does, as in "reading /a/node.conf".
   *
   * @throws {HangingFileSystem} when it takes too long, or while an earlier one is overdue; and whatever the call throws.
   */
  call: <T>(what: string, call: () => Promise<T>) => Promise<T>;
  /** Whether a call is overdue. */
  hangs: () => boolean;
}>;

/** Time that a stop waits for a call under way. */
const stopWithinMs = 1_000;

type Overdue = Readonly<{ what: string; since: string }>;

/** Creates the deadline for the calls of one file system. */
export function createFileDeadline(
  { withinMs, setting, signal }: Readonly<{ withinMs: number; setting: string; signal: AbortSignal }>,
  { clock, onBack }: Readonly<{ clock: Clock; onBack: () => void }>,
): FileDeadline {
  const overdue = new Set<Overdue>();
  const fail = ({ what, since }: Overdue) =>
    new HangingFileSystem(
      `${what} has not come back since ${since} (allowed: ${withinMs} ms, ${setting}): its file system hangs. ` +
        "See that its server or disk answers (stat -f, dmesg), or mount it again",
    );
  return {
    hangs: () => overdue.size > 0,
    call: async (what, call) => {
      const [first] = overdue;
      if (first !== undefined) throw fail(first);
      const late = { what, since: new Date(clock.wallMs()).toISOString() };
      const over = new AbortController();
      const made = call().finally(() => over.abort());
      // Not counted: time in which this process stood still, and the file system may have answered long since.
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
