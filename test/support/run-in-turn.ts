import { DatabaseSync } from "node:sqlite";
import { until } from "#daemon/testing/until.ts";

/**
 * Runs a task while no other process runs one under the same lock file, which is created if missing. It uses SQLite's lock on a database
 * file, which the kernel releases if the process is killed.
 *
 * @throws {Error} with the file's name if others hold it beyond the deadline; nothing was done then.
 */
export async function runInTurn<T>(path: string, deadlineMs: number, work: () => Promise<T>): Promise<T> {
  using database = new DatabaseSync(path, { timeout: 0 });
  await until(`the lock ${path}`, deadlineMs, () => {
    database.exec("BEGIN IMMEDIATE");
    return true;
  });
  try {
    return await work();
  } finally {
    database.exec("ROLLBACK");
  }
}
