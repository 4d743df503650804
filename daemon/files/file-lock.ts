import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** A lock that the processes of one machine share by a file. The kernel takes it from a process that is killed. */
export type FileLock = Disposable &
  Readonly<{
    /**
     * Does some work while no other process does any under the same lock.
     *
     * @throws {Error} SQLite's own (SQLITE_BUSY) when others have it for longer than five seconds; nothing was done then.
     */
    hold: <T>(work: () => T) => T;
  }>;

const waitMs = 5_000;

/** Opens the lock of an empty file, making it if it is not there. It is SQLite's lock of a database file: Node itself has none. */
export function openFileLock(path: string): FileLock {
  closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path, { timeout: waitMs });
  return {
    hold: (work) => {
      database.exec("BEGIN IMMEDIATE");
      try {
        return work();
      } finally {
        database.exec("ROLLBACK");
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}
