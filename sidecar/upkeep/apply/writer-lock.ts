import { basename, dirname, join } from "node:path";
import { holderWords, processLock } from "../state/process-lock.ts";

/** Whether this process may write the file, or why not. */
type WriterLockResult = Readonly<{ ok: true } | { ok: false; reason: "Locked" | "CannotLock"; message: string }>;

/** The right to write one file, for one process at a time on one file system. */
export type WriterLock = Disposable &
  Readonly<{
    /** Takes the right if nobody has it; cheap when this process has it already. */
    acquire: () => WriterLockResult;
    /** Gives the right up and removes the lock file. */
    remove: () => void;
  }>;

/** Makes the lock of a file; it stands beside the file, see {@link processLock}. */
export function writerLock(path: string): WriterLock {
  const lockPath = join(dirname(path), `.${basename(path)}.lock`);
  const lock = processLock(lockPath, path);
  const acquire = (): WriterLockResult => {
    const result = lock.acquire();
    if (result.ok) return result;
    if (result.reason === "CannotLock") {
      return { ok: false, reason: "CannotLock", message: `${lockPath} can't be made ${result.why}.` };
    }
    if (result.reason === "NotOurs") {
      const message = `whether another process looks after ${path} can't be told: ${result.why}.`;
      return { ok: false, reason: "Locked", message };
    }
    const who = result.holder === undefined ? "it" : holderWords(result.holder);
    const message = `another process looks after ${path} (${who} holds ${lockPath}); stop it, only one may write the file.`;
    return { ok: false, reason: "Locked", message };
  };
  return { acquire, remove: lock.remove, [Symbol.dispose]: lock[Symbol.dispose] };
}
