import type { DatabaseSync } from "node:sqlite";
import type { stateStoreFailureReasons } from "#status/condition-reasons.ts";

/** Reason why the sidecar's state is not on disk. `message` contains the file and the remedy. */
export type StoreFailure = Readonly<{ reason: (typeof stateStoreFailureReasons)[number]; message: string }>;

/** Database write; `kept` is called once it is on disk. */
export type StoreWrite = Readonly<{ run: () => void; kept?: () => void }>;

export type StateStore = ReturnType<typeof createStateStore>;

/** Max time to wait for another process's lock on the database; the wait blocks the whole process. */
const busyTimeoutMs = 50;

/**
 * Memory is authoritative; a failed disk loses only its copy. Code that acts checks `failure` first, because a restart that isn't on disk
 * isn't charged to the budget.
 */
export function createStateStore(database: DatabaseSync, path: string) {
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  const pending = new Map<string, StoreWrite>();
  let writeFailure: StoreFailure | undefined;
  let storedFailure: StoreFailure | undefined;
  let changes = 0;
  const defer = (name: string, write: StoreWrite) => {
    // Moves the write to the end: writes are ordered by their last change.
    pending.delete(name);
    pending.set(name, write);
  };
  const flush = () => {
    if (storedFailure !== undefined || changes > 0 || pending.size === 0) return;
    const writes = [...pending.values()];
    try {
      database.exec("BEGIN IMMEDIATE");
      for (const { run } of writes) run();
      database.exec("COMMIT");
    } catch (error) {
      // On a full disk, SQLite rolls back the transaction itself.
      if (database.isTransaction) database.exec("ROLLBACK");
      writeFailure = explainFailure(error, path);
      if (writeFailure === undefined) throw error;
      return;
    }
    writeFailure = undefined;
    pending.clear();
    for (const { kept } of writes) kept?.();
  };
  const write = (name: string, change: StoreWrite) => {
    defer(name, change);
    flush();
  };
  const failure = () => storedFailure ?? writeFailure;
  return {
    database,
    /** Writes now or, if that fails, at a later `flush`. Of several writes with the same name, only the last is retained. */
    write,
    /** Writes at the next `flush`: for values that must be readable at any time, even while the disk's file system hangs. */
    defer,
    flush,
    failure,
    /** Makes the writes in `change` in one transaction: after a kill, either all of them are on disk or none. */
    atomically: (change: () => void) => {
      changes += 1;
      try {
        change();
      } finally {
        changes -= 1;
      }
      flush();
    },
    isWritable: () => {
      write("probe", { run: () => database.exec("UPDATE fact SET value = value WHERE name = 'identity'") });
      return failure() === undefined;
    },
    /** Suspends all disk access while the disk's file system hangs, because access would block the whole process; undefined resumes it. */
    suspend: (why: StoreFailure | undefined) => {
      storedFailure = why;
    },
  };
}

/** Reasons and remedies, by SQLite's primary result code (sqlite.org, "Result Codes"). */
const remedies: Readonly<Record<number, Readonly<{ reason: StoreFailure["reason"]; remedy: string }>>> = {
  5: { reason: "InUse", remedy: "stop the other program that has it open (fuser -v shows it)" },
  6: { reason: "InUse", remedy: "stop the other program that has it open (fuser -v shows it)" },
  8: {
    reason: "ReadOnly",
    remedy: "mount its file system read-write, or grant the sidecar's user write access",
  },
  10: { reason: "WriteFailed", remedy: "check its disk (dmesg) and its free space (df)" },
  13: { reason: "DiskFull", remedy: "free space on its disk (check df)" },
  14: { reason: "WriteFailed", remedy: "grant the sidecar's user write access to its directory" },
};

function explainFailure(error: unknown, path: string): StoreFailure | undefined {
  const { errcode, message } = error as Error & Readonly<{ errcode?: number }>;
  if (errcode === undefined) return undefined;
  // An extended result code contains the primary one in its lowest byte.
  const known = remedies[errcode & 0xff];
  const { reason, remedy } = known ?? { reason: "WriteFailed" as const, remedy: "check the file and its disk" };
  return { reason, message: `${path} can't be written (${message}); ${remedy}.` };
}
