import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { openSqlite, type Migrations } from "./sqlite.ts";
import { StoreError, type SqlConnection, type SqlRow, type SqlStore, type SqlValue } from "./store.ts";
import { StartupError } from "../process/startup-error.ts";

/** Result codes of a file currently locked by another process: SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL. */
const takenCodes: ReadonlySet<number> = new Set([5, 6, 15]);

/** Result codes of a disk that currently fails: SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. */
const diskCodes: ReadonlySet<number> = new Set([8, 10, 13, 14]);

/** A SQLite file, its tables, and which processes may open it. */
export type SqliteStoreOptions = Readonly<{
  path: string;
  migrations: Migrations;
  /** The other process that may have locked the file, and the setting for another file, for the error message. */
  rival: string;
  setting: string;
  /** Whether other processes may share the file: successive processes of one service. Default: exclusive to this process. */
  isShared?: boolean | undefined;
  /** Time to wait for other processes that lock the file. Default: five seconds. */
  waitMs?: number | undefined;
}>;

/**
 * Opens a SQLite file as a store, creating it if missing, and locks out processes that don't share it. Transactions are serialized, and
 * other queries wait for them, so that none sees a partial transaction. In a shared file, a transaction locks the file from its start, and
 * throws a `StoreError` if it can't within `waitMs`.
 *
 * @throws {StartupError} when another process has locked the file.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqlStore {
  const database = open(options);
  const connection = createConnection(database);
  let last: Promise<unknown> = Promise.resolve();
  const runInTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  return {
    rows: (text, parameters) => runInTurn(() => connection.rows(text, parameters)),
    change: (text, parameters) => runInTurn(() => connection.change(text, parameters)),
    transaction: (work) => runInTurn(() => runInTransaction(database, () => work(connection))),
    nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    lockRows: "",
    isListed: (expression, parameter) =>
      `${expression} IN (SELECT value FROM json_each('["' || replace(${parameter}, ',', '","') || '"]'))`,
    [Symbol.asyncDispose]: () => runInTurn(async () => database.close()),
  };
}

function open({ path, migrations, rival, setting, waitMs, isShared = false }: SqliteStoreOptions): DatabaseSync {
  try {
    const database = openSqlite(path, migrations, { setting, waitMs });
    // A read doesn't detect a process with an exclusive lock: that blocks only writes.
    database.exec(isShared ? "BEGIN IMMEDIATE; COMMIT" : "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (cause) {
    if (!hasCode(cause, takenCodes)) throw cause;
    throw new StartupError(`the ledger ${path} is in use; stop ${rival}, or set ${setting} to another file.`, {
      cause,
    });
  }
}

/** Checks whether SQLite failed with one of these codes. Extended result codes contain the primary one in their lowest byte. */
function hasCode(error: unknown, codes: ReadonlySet<number>): boolean {
  const { errcode } = error as Readonly<{ errcode?: number }>;
  return errcode !== undefined && codes.has(errcode & 0xff);
}

/** Runs a query, and throws a `StoreError` for any failure not caused by the statement. */
function runQuery<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (hasCode(cause, takenCodes)) {
      throw new StoreError("another process has kept the ledger's file to itself for too long", { cause });
    }
    if (!hasCode(cause, diskCodes)) throw cause;
    throw new StoreError(`the ledger's file can't be used (${(cause as Error).message}); look at its disk`, { cause });
  }
}

function createConnection(database: DatabaseSync): SqlConnection {
  const prepared = new Map<string, StatementSync>();
  const prepareOnce = (text: string): StatementSync => {
    const known = prepared.get(text);
    if (known !== undefined) return known;
    const made = database.prepare(text);
    prepared.set(text, made);
    return made;
  };
  return {
    rows: async (text, parameters = []) =>
      runQuery(() => prepareOnce(text).all(nameParameters(parameters))) as SqlRow[],
    change: async (text, parameters = []) =>
      Number(runQuery(() => prepareOnce(text).run(nameParameters(parameters))).changes),
  };
}

/** Names the parameters for binding: SQLite treats `$1` as a name. */
function nameParameters(parameters: readonly SqlValue[]): Record<string, SQLInputValue> {
  return Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, value]));
}

async function runInTransaction<T>(database: DatabaseSync, work: () => Promise<T>): Promise<T> {
  runQuery(() => database.exec("BEGIN IMMEDIATE"));
  try {
    const result = await work();
    runQuery(() => database.exec("COMMIT"));
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
