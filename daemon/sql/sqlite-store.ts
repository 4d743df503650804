import { closeSync, fdatasync, openSync, statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { promisify } from "node:util";
import { CommitGroups, type CommitGroupsDependencies } from "./commit-groups.ts";
import { openSqlite, type Migrations } from "./sqlite.ts";
import { StoreError, type SqlConnection, type SqlRow, type SqlStore, type SqlValue } from "./store.ts";
import { StartupError } from "../process/startup-error.ts";

/** Result codes for a file currently locked by another process: SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL. */
const takenCodes: ReadonlySet<number> = new Set([5, 6, 15]);

/** Result codes for a disk that currently fails: SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. */
const diskCodes: ReadonlySet<number> = new Set([8, 10, 13, 14]);

/** A SQLite file, its tables, and which processes may open it. */
export type SqliteStoreOptions = Readonly<{
  path: string;
  migrations: Migrations;
  /** For the error message: the process that may have locked the file, and the setting for another file. */
  rival: string;
  setting: string;
  /** A table that every version of the file has; see `SqliteOptions`. */
  table?: string | undefined;
  /** What to do if the file is locked. Default: stop the other process, or set another file. */
  remedy?: string | undefined;
  /** Whether other processes may share the file: successive processes of one service. Default: exclusive to this process. */
  isShared?: boolean | undefined;
  /** Time to wait for other processes that lock the file. Default: five seconds. */
  waitMs?: number | undefined;
}>;

/**
 * Opens a SQLite file as a store, creating the file if missing, and locks it against processes that don't share it. Writes are committed in
 * groups (`commit-groups.ts`); no query sees a partial transaction, or data that could still be lost. In a shared file, a group locks the
 * file from its start; if it can't within `waitMs`, the group's writers get a `StoreError`.
 *
 * @throws {StartupError} when another process has locked the file.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqlStore {
  const database = open(options);
  return createSqliteStore(database, openLogFile(database, options.path));
}

/** Creates a store on an open database and its log; its disposal closes both. */
export function createSqliteStore(database: DatabaseSync, log: LogFile): SqlStore {
  const runQuery = createQueryRunner(database);
  const groups = new CommitGroups({ ...log, database, runQuery });
  const { rows, change } = createStatements(database, runQuery);
  const connection: SqlConnection = {
    rows: async (text, parameters) => rows(text, parameters),
    change: async (text, parameters) => change(text, parameters),
  };
  return {
    async rows(text, parameters) {
      if (!isReading.test(text)) return groups.write(() => rows(text, parameters));
      const found = await groups.read(() => rows(text, parameters));
      // An empty result needs no flush: a caller acts on it only with a later write, which reaches the disk after everything that this read
      // saw.
      if (found.length > 0) await groups.flushed();
      return found;
    },
    change: (text, parameters) => groups.write(() => change(text, parameters)),
    changeUnsynced: (text, parameters) => groups.write(() => change(text, parameters), { isUnsynced: true }),
    transaction: (work) => groups.transaction(() => work(connection)),
    nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    lockRows: "",
    isListed: (expression, parameter) =>
      `${expression} IN (SELECT value FROM json_each('["' || replace(${parameter}, ',', '","') || '"]'))`,
    async [Symbol.asyncDispose]() {
      try {
        await groups.flushed();
      } finally {
        log.close();
        database.close();
      }
    },
  };
}

function open({
  path,
  migrations,
  rival,
  setting,
  table,
  remedy,
  waitMs,
  isShared = false,
}: SqliteStoreOptions): DatabaseSync {
  try {
    const database = openSqlite(path, migrations, { setting, table, waitMs });
    // A read would not detect another process's exclusive lock, which blocks only writes.
    database.exec(isShared ? "BEGIN IMMEDIATE; COMMIT" : "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (cause) {
    if (!hasCode(cause, takenCodes)) throw cause;
    const defaultRemedy = `stop ${rival}, or set ${setting} to another file`;
    throw new StartupError(`the ledger ${path} is in use; ${remedy ?? defaultRemedy}.`, { cause });
  }
}

/** Checks whether SQLite failed with one of these codes. Extended result codes contain the primary one in their lowest byte. */
function hasCode(error: unknown, codes: ReadonlySet<number>): boolean {
  const { errcode } = error as Readonly<{ errcode?: number }>;
  return errcode !== undefined && codes.has(errcode & 0xff);
}

type QueryRunner = CommitGroupsDependencies["runQuery"];

/** Runs queries, and throws a `StoreError` for any failure not caused by the statement. */
function createQueryRunner(database: DatabaseSync): QueryRunner {
  const ledger = `the ledger ${database.location() ?? "in memory"}`;
  return (work) => {
    try {
      return work();
    } catch (cause) {
      if (hasCode(cause, takenCodes)) {
        throw new StoreError(`another process has locked ${ledger} for too long`, { cause });
      }
      if (!hasCode(cause, diskCodes)) throw cause;
      throw new StoreError(`${ledger} can't be used (${(cause as Error).message}); check its disk`, { cause });
    }
  };
}

const isReading = /^\s*SELECT\b/i;

export function createStatements(database: DatabaseSync, runQuery = createQueryRunner(database)) {
  const statements = new Map<string, StatementSync>();
  const prepareOnce = (text: string): StatementSync => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    // SQLite takes `$1` for a name; binding by name takes a seventh of a short statement's CPU.
    const made = database.prepare(text.replaceAll(/\$(\d+)/g, "?$1"));
    statements.set(text, made);
    return made;
  };
  return {
    rows: (text: string, parameters: readonly SqlValue[] = []) =>
      runQuery(() => prepareOnce(text).all(...parameters)) as SqlRow[],
    change: (text: string, parameters: readonly SqlValue[] = []) =>
      Number(runQuery(() => prepareOnce(text).run(...parameters)).changes),
  };
}

/** Log of committed transactions; `nextTurn` replaces the event loop in tests. */
type LogFile = Pick<CommitGroupsDependencies, "flush" | "nextTurn" | "requireFile"> & Readonly<{ close: () => void }>;

/**
 * Pages in the write-ahead log (16 MiB) at which SQLite checkpoints it, waiting for the disk on this thread: four times less often than by
 * default, and for about as long, since repeatedly written pages are moved only once.
 */
const logPages = 4_000;

/**
 * Leaves flushing the write-ahead log to the caller. SQLite itself then flushes the log only before it moves pages into the database
 * (SQLite, "PRAGMA synchronous": NORMAL), and a flush on another thread makes all earlier commits as durable as FULL does.
 */
function openLogFile(database: DatabaseSync, path: string): LogFile {
  if (path === ":memory:") return { flush: async () => undefined, close: () => undefined };
  database.exec(`PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${logPages}`);
  const file = openSync(`${path}-wal`, "r+");
  const { ino } = statSync(path);
  // Data that SQLite writes to an unlinked file is lost when this process exits.
  const requireFile = (): void => {
    if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return;
    throw new StoreError(
      `the ledger ${path} was moved, replaced or deleted; move it back, or restart with the right file`,
    );
  };
  return { flush: () => flushFile(file), requireFile, close: () => closeSync(file) };
}

const flushFile = promisify(fdatasync);
