import { existsSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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

/**
 * Makes the lock of a file: an exclusive SQLite transaction on a file beside it. The operating system gives the right up when
 * the process ends, however it ends, so a crash leaves nothing to clean up.
 */
export function writerLock(path: string): WriterLock {
  const lockPath = join(dirname(path), `.${basename(path)}.lock`);
  let held: Readonly<{ database: DatabaseSync; inode: number }> | undefined;
  const release = () => {
    held?.database.close();
    held = undefined;
  };
  const acquire = (): WriterLockResult => {
    // The folder may have been deleted and made again: a lock on a deleted file guards nothing.
    if (held !== undefined && existsSync(lockPath) && statSync(lockPath).ino === held.inode) return { ok: true };
    release();
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(lockPath, { timeout: 0 });
      database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      held = { database, inode: statSync(lockPath).ino };
      return { ok: true };
    } catch (cause) {
      database?.close();
      return lockFailure(path, lockPath, cause as Error & { errcode?: number });
    }
  };
  const remove = () => {
    if (held !== undefined) rmSync(lockPath, { force: true });
    release();
  };
  return { acquire, remove, [Symbol.dispose]: release };
}

/** SQLite's result codes SQLITE_BUSY and SQLITE_FULL. */
const busy = 5;
const full = 13;

function lockFailure(path: string, lockPath: string, cause: Error & { errcode?: number }): WriterLockResult {
  if (cause.errcode === busy) {
    const message = `another process looks after ${path} (it holds ${lockPath}); stop it, only one may write the file.`;
    return { ok: false, reason: "Locked", message };
  }
  const remedy = cause.errcode === full ? "free some space on its disk" : "make the directory writable for the sidecar";
  return { ok: false, reason: "CannotLock", message: `${lockPath} can't be made (${cause.message}); ${remedy}.` };
}
