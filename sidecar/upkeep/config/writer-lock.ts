import { realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  formatHolder,
  createProcessLock,
  type ProcessLock,
  type ProcessLockResult,
} from "#daemon/files/process-lock.ts";

/** Outcome of taking the right to write a file. */
type WriterLockResult = Readonly<{ ok: true } | { ok: false; reason: "Locked" | "LockFailed"; message: string }>;

/** The right to write one file, for one process at a time on one file system. */
export type WriterLock = Disposable &
  Readonly<{
    /** Takes the right if nobody has it; cheap when this process has it already. */
    acquire: () => WriterLockResult;
    /**
     * Takes the right once the file's directory has answered. {@link acquire} alone queries the file system in a blocking call: on one that
     * hangs it would block the process, where this blocks only a call that has a time limit.
     */
    acquireOnceReached: () => Promise<WriterLockResult>;
    /** Gives the right up and removes the lock files. */
    remove: () => void;
  }>;

type HeldLock = Readonly<{ lockPath: string; lock: ProcessLock }>;

/**
 * Creates the lock of a file; it stands next to the file, see {@link createProcessLock}. If the file is a symbolic link to one elsewhere, a second lock
 * stands next to that one: two sidecars may name it by different links.
 */
export function createWriterLock(path: string): WriterLock {
  const named = createHeldLock(path, path);
  let behind: HeldLock | undefined;
  const followLink = () => {
    const target = findLinkTarget(path);
    if (target !== undefined && behind?.lockPath === deriveLockPath(target)) return;
    behind?.lock[Symbol.dispose]();
    behind = target === undefined ? undefined : createHeldLock(target, path);
  };
  const acquire = (): WriterLockResult => {
    const result = takeLock(named, path);
    if (!result.ok) return result;
    followLink();
    if (behind === undefined) return result;
    const second = takeLock(behind, path);
    // A lock that was not taken whole is no lock.
    if (!second.ok) named.lock[Symbol.dispose]();
    return second;
  };
  return {
    acquire,
    acquireOnceReached: async () => {
      // The lock itself reports a directory that is not there.
      await stat(dirname(path)).catch(() => undefined);
      return acquire();
    },
    remove: () => {
      behind?.lock.remove();
      named.lock.remove();
    },
    [Symbol.dispose]: () => {
      behind?.lock[Symbol.dispose]();
      named.lock[Symbol.dispose]();
    },
  };
}

function deriveLockPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.lock`);
}

function createHeldLock(path: string, node: string): HeldLock {
  const lockPath = deriveLockPath(path);
  return { lockPath, lock: createProcessLock(lockPath, node) };
}

/** Finds the file that a link leads to; undefined if the path leads to its own file, or to none. */
function findLinkTarget(path: string): string | undefined {
  try {
    const target = realpathSync(path);
    return target === join(realpathSync(dirname(path)), basename(path)) ? undefined : target;
  } catch {
    // It is not there yet, or is not to be looked at: its own lock is all there is.
    return undefined;
  }
}

function takeLock({ lockPath, lock }: HeldLock, path: string): WriterLockResult {
  const result: ProcessLockResult = lock.acquire();
  if (result.ok) return result;
  if (result.reason === "LockFailed") {
    return { ok: false, reason: "LockFailed", message: `${lockPath} can't be made ${result.why}.` };
  }
  if (result.reason === "NotOurs") {
    const message = `whether another process looks after ${path} is not known: ${result.why}.`;
    return { ok: false, reason: "Locked", message };
  }
  const who = result.holder === undefined ? "it" : formatHolder(result.holder);
  const message = `another process looks after ${path} (${who} holds ${lockPath}); stop it, only one may write the file.`;
  return { ok: false, reason: "Locked", message };
}
