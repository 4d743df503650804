import { realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { formatHolder, createProcessLock, type ProcessLock } from "#daemon/files/process-lock.ts";

type WriterLockResult = Readonly<{ ok: true } | { ok: false; reason: "Locked" | "LockFailed"; message: string }>;

export type WriterLock = ReturnType<typeof createWriterLock>;

type WriterLockFile = Readonly<{ lockPath: string; lock: ProcessLock }>;

/** Locks a file by a lock next to it and, if it is a link to another directory, next to its target: sidecars may use different links. */
export function createWriterLock(path: string) {
  const named = createLockFile(path, path);
  let targetLock: WriterLockFile | undefined;
  const followLink = () => {
    const target = findLinkTarget(path);
    if (target !== undefined && targetLock?.lockPath === deriveLockPath(target)) return;
    targetLock?.lock[Symbol.dispose]();
    targetLock = target === undefined ? undefined : createLockFile(target, path);
  };
  const acquire = (): WriterLockResult => {
    const result = takeLock(named, path);
    if (!result.ok) return result;
    followLink();
    if (targetLock === undefined) return result;
    const secondLock = takeLock(targetLock, path);
    // A partially acquired lock is released.
    if (!secondLock.ok) named.lock[Symbol.dispose]();
    return secondLock;
  };
  return {
    acquire,
    /** Acquires the lock once the directory responds, so that a hung file system blocks only a call with a time limit, not the process. */
    acquireOnceReached: async () => {
      // The lock itself reports a missing directory.
      await stat(dirname(path)).catch(() => undefined);
      return acquire();
    },
    remove: () => {
      targetLock?.lock.remove();
      named.lock.remove();
    },
    [Symbol.dispose]: () => {
      targetLock?.lock[Symbol.dispose]();
      named.lock[Symbol.dispose]();
    },
  };
}

function deriveLockPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.lock`);
}

function createLockFile(path: string, node: string): WriterLockFile {
  const lockPath = deriveLockPath(path);
  return { lockPath, lock: createProcessLock(lockPath, node) };
}

function findLinkTarget(path: string): string | undefined {
  try {
    const target = realpathSync(path);
    return target === join(realpathSync(dirname(path)), basename(path)) ? undefined : target;
  } catch {
    // The target doesn't exist yet or is inaccessible, so the lock next to the link has to suffice.
    return undefined;
  }
}

function takeLock({ lockPath, lock }: WriterLockFile, path: string): WriterLockResult {
  const result = lock.acquire();
  if (result.ok) return result;
  if (result.reason === "LockFailed") {
    return { ok: false, reason: "LockFailed", message: `${lockPath} can't be created ${result.why}.` };
  }
  if (result.reason === "NotOurs") {
    const message = `can't determine whether another process manages ${path}: ${result.why}.`;
    return { ok: false, reason: "Locked", message };
  }
  const who = result.holder === undefined ? "it" : formatHolder(result.holder);
  const message = `another process manages ${path} (${who} holds ${lockPath}); stop it: only one process may write the file.`;
  return { ok: false, reason: "Locked", message };
}
