import { DatabaseSync, type StatementSync } from "node:sqlite";
import { createSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { StoreError, type SqlConnection, type SqlStore } from "#daemon/sql/store.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Database that outlives the processes that use it. */
export type VirtualDisk = Readonly<{
  /** Whether several processes use it at the same time. */
  isShared: boolean;
  database: DatabaseSync;
  /**
   * Opens the database for a process. If the power failed when the previous process ended, unflushed writes are lost.
   */
  open: (process: VirtualProcess) => SqlStore;
}>;

export type DiskOptions = Readonly<{
  time: VirtualTime;
  migrations: Migrations;
  /** Max time of each leg of a flush, and of a statement in a transaction; 0: immediate. */
  latencyMs: number;
  losesPower: boolean;
  /** Returns the current probability that a call fails because the database is unavailable. */
  faultRate: () => number;
  /** Whether such a call may have taken effect, as when the connection to a database breaks; failed calls to a file have no effect. */
  isRemote: boolean;
  note: (step: string) => void;
}>;

/** A SQLite statement is compiled once for all processes of a run, because that takes longer than running it. */
class CachedDatabase extends DatabaseSync {
  readonly #statements = new Map<string, StatementSync>();

  override prepare(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? super.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

/** Probability that the power of a process's machine fails when the process ends. */
const powerFailure = 0.4;

/** Creates an empty database with its tables. */
export function createVirtualDisk({
  time,
  migrations,
  latencyMs,
  losesPower,
  faultRate,
  isRemote,
  note,
}: DiskOptions): VirtualDisk {
  const database = new CachedDatabase(":memory:");
  database.exec("PRAGMA foreign_keys = ON");
  for (const migration of migrations) database.exec(migration);
  const flushed = losesPower ? keepFlushed(database) : undefined;
  let isUsed = false;
  const failSometimes = () => {
    if (time.chance(faultRate())) throw new StoreError("the virtual disk fails");
  };
  return {
    database,
    isShared: false,
    open: (process) => {
      // Rolls back what a killed process left uncommitted, as a file's journal does.
      if (database.isTransaction) database.exec("ROLLBACK");
      if (flushed !== undefined && isUsed && time.chance(powerFailure)) {
        flushed.restore();
        note(`the power failed before ${process.name}`);
      }
      isUsed = true;
      const flush = () =>
        process.call("a flush", latencyMs, async () => {
          flushed?.flush();
          if (!time.chance(faultRate())) return;
          // The service's supervisor then restarts it.
          time.after(5_000, () => process.kill("because its disk failed"));
          throw new Error("the virtual disk can't be flushed");
        });
      const store = createSqliteStore(database, { flush, close: () => undefined, nextTurn: () => process.pause(0) });
      const call = <T>(what: string, effect: () => Promise<T>) =>
        process.call(what, 0, async () => {
          failSometimes();
          const result = await effect();
          if (isRemote) failSometimes();
          return result;
        });
      const within = (connection: SqlConnection): SqlConnection => ({
        rows: (...query) => process.call("a query in a transaction", latencyMs, () => connection.rows(...query)),
        change: (...query) => process.call("a write in a transaction", latencyMs, () => connection.change(...query)),
      });
      return {
        ...store,
        rows: (...query) => call("a query", () => store.rows(...query)),
        change: (...query) => call("a write", () => store.change(...query)),
        changeUnsynced: (...query) => call("an unsynced write", () => store.changeUnsynced(...query)),
        transaction: (work) => call("a transaction", () => store.transaction((connection) => work(within(connection)))),
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
  };
}

/** Keeps a copy of a database's tables as of the last flush. */
function keepFlushed(database: DatabaseSync): Readonly<{ flush: () => void; restore: () => void }> {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const names = tables.map(({ name }) => String(name));
  const copy = (from: string, to: string) =>
    names.map((name) => `DELETE FROM ${to}.${name}; INSERT INTO ${to}.${name} SELECT * FROM ${from}.${name};`).join("");
  database.exec("ATTACH ':memory:' AS flushed");
  for (const name of names) database.exec(`CREATE TABLE flushed.${name} AS SELECT * FROM main.${name} WHERE 0`);
  const [save, load] = [copy("main", "flushed"), copy("flushed", "main")];
  return {
    flush: () => database.exec(save),
    restore: () => database.exec(`PRAGMA foreign_keys = OFF; ${load} PRAGMA foreign_keys = ON;`),
  };
}
