import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { openSqlite, type Migrations } from "./sqlite.ts";
import { StoreError, type SqlConnection, type SqlRow, type SqlStore, type SqlValue } from "./store.ts";
import { StartupError } from "../process/startup-error.ts";

/** Result codes of a file that another process has just now: SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL. */
const takenCodes: ReadonlySet<number> = new Set([5, 6, 15]);

/** Result codes of a disk that does not do what it should just now: SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. */
const diskCodes: ReadonlySet<number> = new Set([8, 10, 13, 14]);

/** A SQLite file, its tables, and who may open it. */
export type SqliteStoreOptions = Readonly<{
  path: string;
  migrations: Migrations;
  /** Other process that may have the file, and the setting to use another, for the message that refuses it. */
  rival: string;
  setting: string;
  /** Whether others that open it so may have the file as well: processes of one service that follow one another. Default: it is this process's alone. */
  isShared?: boolean | undefined;
  /** Time to wait for other processes that have the file. Default: five seconds. */
  waitMs?: number | undefined;
}>;

/**
 * Opens a SQLite file as a store, making it if it is not there, and keeps out of it every other process that it is not shared with.
 * Transactions run one after the other, and other queries wait for them, so that nothing sees the half of one. Where the file is shared,
 * a transaction has it to itself from its beginning, and one that can't have it within `waitMs` is a `StoreError`.
 *
 * @throws {StartupError} when another process has the file.
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
    // Reading shows nothing of a process that has the file to itself: it would keep this one from writing alone.
    database.exec(isShared ? "BEGIN IMMEDIATE; COMMIT" : "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (cause) {
    if (!hasCode(cause, takenCodes)) throw cause;
    throw new StartupError(`the ledger ${path} is in use; stop ${rival}, or set ${setting} to another file.`, {
      cause,
    });
  }
}

/** Whether SQLite failed with one of these codes. Extended result codes have the primary one in their lowest byte. */
function hasCode(error: unknown, codes: ReadonlySet<number>): boolean {
  const { errcode } = error as Readonly<{ errcode?: number }>;
  return errcode !== undefined && codes.has(errcode & 0xff);
}

/** Runs a query, and throws a `StoreError` for a failure that is no fault of the statement. */
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

/** Binds parameters by name: SQLite takes `$1` for a name. */
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
