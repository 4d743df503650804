import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Hex } from "viem";
import { openSqlite, type Migrations } from "#daemon/sql/sqlite.ts";
import { StartupError } from "#daemon/process/startup-error.ts";

/** One write since the last snapshot, in journal order. */
export type JournalEntry = Readonly<
  { kind: "transaction"; raw: Hex; hash: Hex } | { kind: "block"; timestampSeconds: number }
>;

/**
 * A chain on disk: a snapshot, and a journal of later writes. A write survives a kill -9 of this process at any time; after a power failure
 * the store is consistent, but may lack the last writes.
 */
export type ChainStore = Disposable &
  Readonly<{
    /** The chain as returned by `anvil_dumpState`; undefined for a new chain. */
    snapshot(): Uint8Array | undefined;
    journal(): readonly JournalEntry[];
    addTransaction(raw: Hex, hash: Hex): void;
    /** Records a block before it is mined. */
    addBlock(timestampSeconds: number): void;
    /** Replaces the snapshot and truncates the journal to the transactions still pending. */
    saveSnapshot(state: Uint8Array, waiting: ReadonlySet<Hex>): void;
  }>;

const migrations: Migrations = [
  `CREATE TABLE snapshot (id INTEGER PRIMARY KEY CHECK (id = 1), state BLOB NOT NULL);
   CREATE TABLE journal (
     sequence INTEGER PRIMARY KEY AUTOINCREMENT,
     timestamp_seconds INTEGER,
     hash TEXT,
     raw TEXT,
     CHECK ((timestamp_seconds IS NULL) = (raw IS NOT NULL))
   )`,
];

/**
 * Opens the store in `directory`, for one process at a time.
 *
 * @throws {StartupError} when another process has it open.
 */
export function openChainStore(directory: string): ChainStore {
  const path = join(directory, "chain.sqlite");
  const database = openForOneProcess(path);
  const insert = database.prepare("INSERT INTO journal (timestamp_seconds, hash, raw) VALUES (?, ?, ?)");
  return {
    snapshot: () => database.prepare("SELECT state FROM snapshot").get()?.["state"] as Uint8Array | undefined,
    journal: () => readJournal(database),
    addTransaction: (raw, hash) => void insert.run(null, hash, raw),
    addBlock: (timestampSeconds) => void insert.run(timestampSeconds, null, null),
    saveSnapshot: (state, waiting) => saveSnapshot(database, state, waiting),
    [Symbol.dispose]: () => database.close(),
  };
}

function openForOneProcess(path: string): DatabaseSync {
  try {
    const database = openSqlite(path, migrations);
    // NORMAL: a commit survives a process exit, as promised, without a disk sync per block.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT;");
    return database;
  } catch (cause) {
    if (!/locked|busy/.test((cause as Error).message)) throw cause;
    throw new StartupError(`another node uses ${path}; stop it, or use another data directory for this node.`, {
      cause,
    });
  }
}

function readJournal(database: DatabaseSync): readonly JournalEntry[] {
  const rows = database.prepare("SELECT timestamp_seconds, hash, raw FROM journal ORDER BY sequence").all();
  return rows.map((row) =>
    row["raw"] === null
      ? { kind: "block", timestampSeconds: Number(row["timestamp_seconds"]) }
      : { kind: "transaction", raw: row["raw"] as Hex, hash: row["hash"] as Hex },
  );
}

function saveSnapshot(database: DatabaseSync, state: Uint8Array, waiting: ReadonlySet<Hex>): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.prepare("INSERT OR REPLACE INTO snapshot (id, state) VALUES (1, ?)").run(state);
    database.exec("DELETE FROM journal WHERE raw IS NULL");
    const remove = database.prepare("DELETE FROM journal WHERE hash = ?");
    for (const { hash } of database.prepare("SELECT hash FROM journal").all()) {
      if (!waiting.has(hash as Hex)) remove.run(hash as Hex);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}
