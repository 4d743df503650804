import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Schema changes in order; each runs once, in its own transaction. Append only. */
export type Migrations = readonly string[];

/**
 * Opens a SQLite database whose commits survive kill -9 and power loss (WAL, `synchronous = FULL`), and brings its schema up to
 * date. `PRAGMA user_version` counts the migrations that ran. The owner closes it.
 *
 * @throws {Error} when the database was made by a newer version, which knows migrations that this one does not.
 */
export function openSqlite(path: string, migrations: Migrations): DatabaseSync {
  if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  const row = database.prepare("PRAGMA user_version").get();
  const done = Number(row?.["user_version"] ?? 0);
  if (done > migrations.length) {
    database.close();
    throw new Error(
      `${path} has schema version ${done}, this program knows ${migrations.length}; run the newer version.`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < done) continue;
    database.exec(`BEGIN IMMEDIATE; ${migration}; PRAGMA user_version = ${index + 1}; COMMIT;`);
  }
  return database;
}
