import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartupError } from "../process/startup-error.ts";
import { createDirectory } from "../files/create-directory.ts";
import { restrictToOwner } from "../files/atomic-file.ts";

/** Schema changes in order; each runs once, in its own transaction. Append only. */
export type Migrations = readonly string[];

export type SqliteOptions = Readonly<{
  /** The setting that specifies the file, for messages. */
  setting?: string | undefined;
  /** A table of every version: without it, a file is another program's database, or was emptied. Default: not checked. */
  table?: string | undefined;
  /** Time for which a statement waits for a file locked by another connection. */
  waitMs?: number | undefined;
}>;

const lockWaitMs = 5_000;

/**
 * Opens a SQLite database whose commits survive kill -9 and power loss (WAL, `synchronous = FULL`), and migrates its schema. `PRAGMA
 * user_version` counts the applied migrations. The caller must close the database.
 *
 * @throws {StartupError} in one line with the remedy, when the directory or file can't be read or written, the file is damaged or not a
 * database, or a newer version created it with migrations unknown to this one.
 */
export function openSqlite(
  path: string,
  migrations: Migrations,
  { setting, table, waitMs = lockWaitMs }: SqliteOptions = {},
): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (table !== undefined) rejectLost(path, setting);
    if (path !== ":memory:") makePrivate(path);
    database = new DatabaseSync(path, { timeout: waitMs });
    if (table !== undefined) requireTable(database, table, { path, setting });
    migrate(database, path, migrations);
    return database;
  } catch (error) {
    database?.close();
    throw explainStartFailure(error, path, setting);
  }
}

/** Makes the file accessible only to its owner: it contains payments, or permissions to change a node. SQLite gives its auxiliary files the same mode. */
function makePrivate(path: string): void {
  createDirectory(dirname(path));
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  restrictToOwner(path);
}

/** Rejects an empty file, or a log without its file: SQLite would create a new database, and delete the log. */
function rejectLost(path: string, setting: string | undefined): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const log = `${path}-wal`;
  if (found === undefined ? !existsSync(log) : found.size > 0) return;
  const problem = found === undefined ? "is missing next to its log" : "is empty";
  throw new StartupError(
    `${path} ${problem}, so its records are lost: restore a backup of it and of the files next to it, or ${suggestOtherPath(setting)}. If it never held any: rm -f ${path} ${log}`,
  );
}

/** Rejects a file that is mistaken for this one, such as the other service's ledger, before it is migrated. */
function requireTable(
  database: DatabaseSync,
  table: string,
  { path, setting }: Readonly<{ path: string; setting: string | undefined }>,
): void {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (tables.length === 0 || tables.some(({ name }) => name === table)) return;
  throw new StartupError(`${path} belongs to another service: it has no table ${table}; ${suggestOtherPath(setting)}.`);
}

const suggestOtherPath = (setting: string | undefined): string =>
  setting === undefined ? "change its path" : `set ${setting} to another path`;

function migrate(database: DatabaseSync, path: string, migrations: Migrations): void {
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  const row = database.prepare("PRAGMA user_version").get();
  const done = Number(row?.["user_version"] ?? 0);
  if (done > migrations.length) {
    const message = `${path} has schema version ${done}, but this program supports only up to ${migrations.length}; run a newer version.`;
    throw new StartupError(message);
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < done) continue;
    database.exec(`BEGIN IMMEDIATE; ${migration}; PRAGMA user_version = ${index + 1}; COMMIT;`);
  }
  requireIntact(database, path);
}

/** Max size of a file that is fully checked when opened; the check takes a fraction of a second. */
const checkedBytesMax = 67_108_864;

/** Checks every page of a small file, so that a damaged one is rejected now and not at the first payment. */
function requireIntact(database: DatabaseSync, path: string): void {
  if (path === ":memory:" || statSync(path).size > checkedBytesMax) return;
  const damage = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (damage !== undefined && damage !== "ok") throw new DamagedDatabase(`${path}: ${String(damage)}`);
}

/** SQLite's integrity check found an error. `errcode` is SQLITE_CORRUPT, which SQLite reports when it encounters damage. */
class DamagedDatabase extends Error {
  override readonly name = "DamagedDatabase";
  readonly code = "database_damaged";
  readonly errcode = 11;
}

const cantOpen = 14;

/** Kinds of failure by SQLite's primary result code (sqlite.org, "Result Codes") or the system's error code. */
const kindByCode: Readonly<Record<string, "unwritable" | "full" | "damaged">> = Object.fromEntries([
  ...[3, 8, cantOpen, "EACCES", "EPERM", "EROFS", "EEXIST", "ENOTDIR"].map((code) => [code, "unwritable"]),
  ...[10, 13, "ENOSPC", "EDQUOT"].map((code) => [code, "full"]),
  ...[11, 26].map((code) => [code, "damaged"]),
]);

/** Explains in one line why a database file can't be used at startup. Returns any other error unchanged. */
function explainStartFailure(error: unknown, path: string, setting: string | undefined): unknown {
  if (error instanceof StartupError || !(error instanceof Error)) return error;
  const { errcode, code = "" } = error as Error & Readonly<{ errcode?: number; code?: string }>;
  // Extended result codes contain the primary one in their lowest byte.
  const kind = kindByCode[errcode === undefined ? code : errcode & 0xff];
  if (kind === undefined) return error;
  const otherPathAdvice = suggestOtherPath(setting);
  if (errcode === cantOpen && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    return new StartupError(`${path} is a directory, not a database; ${otherPathAdvice}.`, { cause: error });
  }
  const why = errcode === undefined ? code : error.message;
  const user = process.getuid === undefined ? "this user" : `user ${process.getuid()}`;
  const lines = {
    unwritable: `${path} can't be opened for writing (${why}); grant ${user} write access to ${dirname(path)}, or ${otherPathAdvice}.`,
    full: `${path} can't be written (${why}); free space on its disk, or ${otherPathAdvice}.`,
    damaged:
      `${path} is damaged or not a SQLite database (${why}); restore a backup of it and of the files next to it, or ${otherPathAdvice}. ` +
      `Keep the damaged file: "sqlite3 ${path} .recover" recovers the readable data.`,
  };
  return new StartupError(lines[kind], { cause: error });
}
