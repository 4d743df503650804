import { DatabaseSync } from "node:sqlite";
import { createStatements } from "#daemon/sql/sqlite-store.ts";
import type { SqlConnection, SqlRow, SqlStore, SqlValue } from "#daemon/sql/store.ts";
import { sqliteLedgerMigrations } from "../settlement/ledger/schema.ts";

/**
 * Fault that a test injects into the database, to check that it is detected:
 * - `no guard`: a leader's writes are accepted whichever replica settles by then.
 * - `no lock`: another term may start between a write's guard and the write.
 * - `no expiry`: a lease is granted to any requester.
 * - `requests get lost`: the settler does not find a request that is older than a second.
 */
export type Sabotage = "no guard" | "no lock" | "no expiry" | "requests get lost";

/** One replica's connection to the database. Each leg may take time, and fail with `StoreError`. */
export type Link = Readonly<{
  replica: string;
  /** Sends a statement to the database. It may still arrive after its sender gave up or exited. */
  send: (what: string) => Promise<void>;
  /** Continues a transaction after a response to the replica. Also fails if the replica gave up or exited. */
  goOn: () => Promise<void>;
  /** Receives the last response. */
  receive: (what: string) => Promise<void>;
  /** Waits for the work as long as the replica does. */
  within: <T>(work: Promise<T>) => Promise<T>;
}>;

/** Shared database: between a transaction's guard and its writes, other transactions run. */
export type SimulatedDatabase = Readonly<{
  rows: (text: string) => readonly SqlRow[];
  connect: (link: Link) => SqlStore;
}> & {
  /** Called for each new term with its replica, and after each guarded transaction with the term that its guard checked. */
  onTerm: (term: number, replica: string) => void;
  onLeaderWrite: (term: number) => void;
};

const lockRows = " -- FOR SHARE";
const acquiresLease = /^INSERT INTO settler\b/;
const writesLease = /^(?:INSERT INTO|UPDATE) settler\b/;
const findsRequests = /^SELECT \* FROM settlement[^]*NOT EXISTS/;

/** Creates the database with its tables, and one of settlements that were finished a second time. It uses the test's clock. */
export function createSimulatedDatabase(nowMs: () => number, sabotage?: Sabotage): SimulatedDatabase {
  const database = new DatabaseSync(":memory:");
  for (const migration of sqliteLedgerMigrations) database.exec(migration);
  database.exec(`CREATE TABLE refinished (id TEXT);
    CREATE TRIGGER refinish AFTER UPDATE OF state ON settlement WHEN old.state <> 'begun'
      BEGIN INSERT INTO refinished VALUES (old.id); END`);
  database.function("now_ms", nowMs);
  const statements = createStatements(database);
  const rows: Rows = (text, parameters) => {
    if (sabotage === "no expiry" && acquiresLease.test(text)) database.exec("UPDATE settler SET expires_at_ms = 0");
    const found = statements.rows(text, parameters);
    if (sabotage === "no guard" && text.endsWith(lockRows)) return [{}];
    if (sabotage !== "requests get lost" || !findsRequests.test(text)) return found;
    return found.filter((row) => Number(row["begun_at_ms"]) >= nowMs() - 1_000);
  };
  const lockers = new Set<object>();
  const shared: SimulatedDatabase = {
    rows,
    connect: (link) => connect({ database, rows, change: statements.change, lockers, sabotage, shared }, link),
    onTerm: () => undefined,
    onLeaderWrite: () => undefined,
  };
  return shared;
}

type Rows = (text: string, parameters?: readonly SqlValue[]) => readonly SqlRow[];

type Database = Readonly<{
  database: DatabaseSync;
  rows: Rows;
  change: (text: string, parameters?: readonly SqlValue[]) => number;
  /** Transactions that have locked the lease's row, as FOR SHARE does. */
  lockers: Set<object>;
  sabotage: Sabotage | undefined;
  shared: SimulatedDatabase;
}>;

function connect(database: Database, link: Link): SqlStore {
  const run = async <T>(text: string, work: () => T): Promise<T> => {
    await link.send(text);
    while (database.database.isTransaction || (writesLease.test(text) && database.lockers.size > 0))
      await link.send(text);
    const result = work();
    await link.receive(text);
    return result;
  };
  const change: SqlConnection["change"] = (text, parameters) =>
    link.within(run(text, () => database.change(text, parameters)));
  const read = (text: string, parameters?: readonly SqlValue[]) => {
    const found = database.rows(text, parameters);
    if (acquiresLease.test(text)) for (const row of found) database.shared.onTerm(Number(row["term"]), link.replica);
    return found;
  };
  return {
    rows: (text, parameters) => link.within(run(text, () => read(text, parameters))),
    change,
    changeUnsynced: change,
    transaction: (work) => link.within(runTransaction(database, link, work)),
    nowMs: "now_ms()",
    lockRows,
    isListed: (expression, parameter) =>
      `${expression} IN (SELECT value FROM json_each('["' || replace(${parameter}, ',', '","') || '"]'))`,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function runTransaction<T>(
  { database, rows, change, lockers, sabotage, shared }: Database,
  link: Link,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const locker = {};
  let term: number | undefined;
  let isOpen = false;
  const open = async () => {
    if (isOpen) return;
    if (term !== undefined) {
      await link.goOn();
      await link.send("the writes of a transaction");
    }
    while (database.isTransaction) await link.send("the writes of a transaction");
    database.exec("BEGIN");
    isOpen = true;
  };
  await link.send("a transaction");
  let result: T;
  try {
    result = await work({
      rows: async (text, parameters = []) => {
        if (!text.endsWith(lockRows)) await open();
        else {
          term = Number(parameters[1]);
          if (sabotage !== "no lock") lockers.add(locker);
        }
        return rows(text, parameters);
      },
      change: async (text, parameters) => {
        await open();
        return change(text, parameters);
      },
    });
    if (isOpen) database.exec("COMMIT");
    isOpen = false;
    if (term !== undefined) shared.onLeaderWrite(term);
  } finally {
    if (isOpen) database.exec("ROLLBACK");
    lockers.delete(locker);
  }
  await link.receive("the end of a transaction");
  return result;
}
