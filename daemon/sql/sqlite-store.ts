import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { openSqlite, type Migrations } from "./sqlite.ts";
import type { SqlConnection, SqlRow, SqlStore, SqlValue } from "./store.ts";
import { StartupError } from "../startup-error.ts";

/** Result code SQLITE_BUSY. */
const sqliteBusy = 5;

/** Which file, what its tables are, and whose it is. */
export type SqliteStoreOptions = Readonly<{
  path: string;
  migrations: Migrations;
  /** Who else may have the file, and what to set to use another, for the message that refuses it. */
  rival: string;
  setting: string;
}>;

/**
 * Opens a SQLite file as a store, making it if it is not there, and keeps every other process out of it. Transactions run one after
 * the other, and what else is asked waits for them, so that nothing sees the half of one.
 *
 * @throws {StartupError} when another process has the file.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqlStore {
  const database = openExclusively(options);
  const connection = connectionOf(database);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  return {
    rows: (text, parameters) => inTurn(() => connection.rows(text, parameters)),
    change: (text, parameters) => inTurn(() => connection.change(text, parameters)),
    transaction: (work) => inTurn(() => inTransaction(database, () => work(connection))),
    nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    [Symbol.asyncDispose]: () => inTurn(async () => database.close()),
  };
}

function openExclusively({ path, migrations, rival, setting }: SqliteStoreOptions): DatabaseSync {
  try {
    const database = openSqlite(path, migrations, setting);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (cause) {
    if ((cause as Readonly<{ errcode?: number }>).errcode !== sqliteBusy) throw cause;
    throw new StartupError(`the ledger ${path} is in use; stop ${rival}, or set ${setting} to another file.`, {
      cause,
    });
  }
}

function connectionOf(database: DatabaseSync): SqlConnection {
  const prepared = new Map<string, StatementSync>();
  const statement = (text: string): StatementSync => {
    const known = prepared.get(text);
    if (known !== undefined) return known;
    const made = database.prepare(text);
    prepared.set(text, made);
    return made;
  };
  return {
    rows: async (text, parameters = []) => statement(text).all(named(parameters)) as SqlRow[],
    change: async (text, parameters = []) => Number(statement(text).run(named(parameters)).changes),
  };
}

/** SQLite takes `$1` for a name, so parameters are bound by it. */
function named(parameters: readonly SqlValue[]): Record<string, SQLInputValue> {
  return Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, value]));
}

async function inTransaction<T>(database: DatabaseSync, work: () => Promise<T>): Promise<T> {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = await work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
