import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { restrictToOwner } from "./atomic-file.ts";
import { readRegularText } from "./regular-file.ts";

const lockHolder = z.object({ pid: z.int(), host: z.string(), since: z.string(), node: z.string() });

/** The process that holds a lock, with everything that an operator needs to know to stop it. */
export type LockHolder = Readonly<z.output<typeof lockHolder>>;

/** Whether this process holds the lock, or why not. */
export type ProcessLockResult = Readonly<
  | { ok: true }
  | { ok: false; reason: "Locked"; holder?: LockHolder }
  /** The lock file belongs to another user, so it is unknown whether one of that user's processes holds the lock. */
  | { ok: false; reason: "NotOurs"; why: string }
  | { ok: false; reason: "LockFailed"; why: string }
>;

/** A lock on one file system, held by one process at a time. */
export type ProcessLock = Disposable &
  Readonly<{
    /** Acquires the lock if it is free; cheap if this process already holds it. */
    acquire: () => ProcessLockResult;
    remove: () => void;
  }>;

/** Max bytes read from the file that describes the holder. */
const holderBytes = 65_536;

/** SQLite's result codes SQLITE_BUSY, _READONLY, _FULL and _CANTOPEN; an extended code contains one of these in its lowest byte. */
const busy = 5;
const cannotOpen = 14;
const readOnly = 8;
const full = 13;

/**
 * Creates a lock: an exclusive SQLite transaction that writes to a file, because a transaction on a read-only file locks nothing. The
 * operating system releases the lock when the process exits for any reason, so a crash needs no cleanup. `<lockPath>.json` describes the
 * holder; `node` identifies the locked resource, such as a sidecar's node.conf.
 */
export function createProcessLock(lockPath: string, node: string): ProcessLock {
  const holderPath = `${lockPath}.json`;
  let held: Readonly<{ database: DatabaseSync; inode: number }> | undefined;
  const release = () => {
    if (held === undefined) return;
    rmSync(holderPath, { force: true });
    held.database.close();
    held = undefined;
  };
  const acquire = (): ProcessLockResult => {
    // The folder may have been deleted and recreated: a lock on a deleted file protects nothing.
    if (held !== undefined && existsSync(lockPath) && statSync(lockPath).ino === held.inode) return { ok: true };
    held?.database.close();
    held = undefined;
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(lockPath, { timeout: 0 });
      // Done before SQLite creates the journal, which inherits the mode.
      restrictToOwner(lockPath);
      database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
      held = { database, inode: statSync(lockPath).ino };
    } catch (cause) {
      database?.close();
      return explainLockFailure(cause as Error & { errcode?: number }, lockPath, holderPath);
    }
    writeHolder(holderPath, node);
    return { ok: true };
  };
  const remove = () => {
    if (held !== undefined) rmSync(lockPath, { force: true });
    release();
  };
  return { acquire, remove, [Symbol.dispose]: release };
}

/** Formats the holder as the subject of a sentence: `process 123 on host a, since 2026-01-01T00:00:00.000Z,`. */
export function formatHolder({ pid, host, since }: LockHolder): string {
  return `process ${pid} on host ${host}, since ${since},`;
}

function writeHolder(path: string, node: string): void {
  const holder: LockHolder = { pid: process.pid, host: hostname(), since: new Date().toISOString(), node };
  try {
    // The file is removed and recreated: any user with write access here could have replaced it with a named pipe, on which the write would
    // block forever.
    rmSync(path, { force: true });
    writeFileSync(path, JSON.stringify(holder), { mode: 0o600, flag: "wx" });
    restrictToOwner(path);
  } catch {
    // Only the lock matters, not the holder's details: without them, e.g. on a full disk, other sidecars report "another process".
  }
}

function explainLockFailure(
  cause: Error & { errcode?: number },
  lockPath: string,
  holderPath: string,
): ProcessLockResult {
  const code = (cause.errcode ?? 0) & 0xff;
  // The file belongs to another user, whether or not it is readable.
  if (code === readOnly || (code === cannotOpen && existsSync(lockPath))) {
    const user = process.geteuid?.() ?? "this one";
    const owner = findOtherOwner(lockPath);
    const asOwner = owner === undefined || owner === 0 ? "" : `run it as its owner, user ${owner}, or `;
    const why = `${lockPath} can't be written by user ${user}; ${asOwner}remove it once no sidecar runs there: rm ${lockPath}`;
    return { ok: false, reason: "NotOurs", why };
  }
  if (code === busy) {
    const holder = readHolder(holderPath);
    return holder === undefined ? { ok: false, reason: "Locked" } : { ok: false, reason: "Locked", holder };
  }
  const remedy = code === full ? "free space on its disk" : explainDirectory(dirname(lockPath));
  return { ok: false, reason: "LockFailed", why: `(${cause.message}); ${remedy}` };
}

/** Another user may have created the directory, such as the one as which the volume's first container ran. */
function explainDirectory(directory: string): string {
  const owner = findOtherOwner(directory);
  if (owner === undefined) return "make the directory writable for the sidecar";
  const user = process.geteuid?.() ?? "";
  const asOwner = owner === 0 ? "" : `run the sidecar as user ${owner}, or `;
  return `the directory belongs to user ${owner}; ${asOwner}run \`chown -R ${user} ${directory}\``;
}

/** Returns the user that owns a path, if that isn't this process's user. */
function findOtherOwner(path: string): number | undefined {
  try {
    const { uid } = statSync(path);
    return uid === process.geteuid?.() ? undefined : uid;
  } catch {
    // Whatever hides the path also explains the failed lock.
    return undefined;
  }
}

function readHolder(path: string): LockHolder | undefined {
  try {
    return lockHolder.parse(JSON.parse(readRegularText(path, holderBytes)));
  } catch {
    // The holder has only just started or could not write the file, or something else has replaced the file.
    return undefined;
  }
}
