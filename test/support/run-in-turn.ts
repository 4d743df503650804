import { DatabaseSync } from "node:sqlite";
import { until } from "#daemon/testing/until.ts";

/**
 * Does some work while no other process does any under the same file's lock, which is made if it is not there. It is SQLite's lock of a database
 * file, which the kernel takes from a process that is killed.
 *
 * @throws {Error} naming the file, when others have it for longer than the deadline; nothing was done then.
 */
export async function runInTurn<T>(path: string, deadlineMs: number, work: () => Promise<T>): Promise<T> {
  using database = new DatabaseSync(path, { timeout: 0 });
  await until(`the turn under ${path}`, deadlineMs, () => {
    database.exec("BEGIN IMMEDIATE");
    return true;
  });
  try {
    return await work();
  } finally {
    database.exec("ROLLBACK");
  }
}
