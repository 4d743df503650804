import { DatabaseSync } from "node:sqlite";
import { createStatements } from "#daemon/sql/sqlite-store.ts";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { StoreError, type SqlConnection, type SqlStore, type SqlValue } from "#daemon/sql/store.ts";
import { settlementColumns } from "#facilitator/settlement/ledger/rows.ts";
import type { Hex } from "#x402/hex.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import type { VirtualDisk } from "./virtual-disk.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * Database server that several processes share, like PostgreSQL. Other transactions run between a transaction's guard
 * and its writes, and a statement may arrive after its sender gave up or was killed.
 */
export type VirtualDatabase = VirtualDisk &
  Readonly<{
    /** Delays everything that a process sends and receives, as a partition does. */
    partition: (process: VirtualProcess, ms: number) => void;
  }>;

export type DatabaseOptions = Readonly<{
  time: VirtualTime;
  migrations: Migrations;
  /** Draws the time of a leg of a statement. */
  drawLatencyMs: () => number;
  /** Returns the current probability that the connection breaks, on each of a statement's legs. */
  faultRate: () => number;
  onTerm: (term: Term, by: VirtualProcess) => void;
  /** Called when a settlement is requested, with the call that it makes. */
  onRequest: (call: ContractCall) => void;
  /** Called when a transaction of the leader has checked its term, before its writes. */
  onLeaderCheck: (by: VirtualProcess) => void;
  /** Called when a transaction of the leader commits, with the term that it checked and the lease's current term. */
  onLeaderWrite: (checked: Term, actual: number) => void;
}>;

export type Term = Readonly<{ chain: number; number: number }>;

const statementTimeoutMs = 5_000;
const lockRows = " -- FOR SHARE";
const acquiresLease = /^INSERT INTO settler\b/;
const writesLease = /^(?:INSERT INTO|UPDATE) settler\b/;
const requestsSettlement = /^INSERT INTO settlement\b/;
const checksTerm = /^SELECT term FROM settler\b/;

const columns = settlementColumns.split(", ");

type Server = DatabaseOptions &
  Readonly<{
    database: DatabaseSync;
    statements: ReturnType<typeof createStatements>;
    /** Transactions that have locked the row of a lease. */
    lockers: Set<object>;
  }>;

export function createVirtualDatabase(options: DatabaseOptions): VirtualDatabase {
  const { time, migrations, drawLatencyMs, faultRate } = options;
  const database = new DatabaseSync(":memory:");
  for (const migration of migrations) database.exec(migration);
  database.function("now_ms", time.nowMs);
  const server: Server = { ...options, database, statements: createStatements(database), lockers: new Set() };
  const partitionedUntilMs = new WeakMap<VirtualProcess, number>();
  return {
    database,
    isShared: true,
    partition: (process, ms) => void partitionedUntilMs.set(process, time.nowMs() + Math.ceil(ms)),
    open: (process) =>
      connect(server, process, async () => {
        await time.pause(drawLatencyMs());
        const leftMs = (partitionedUntilMs.get(process) ?? 0) - time.nowMs();
        if (leftMs > 0) await time.pause(leftMs);
        if (time.chance(faultRate())) throw new StoreError("the connection to the virtual database breaks");
      }),
  };
}

/** Connects a process; `travel` is one leg between the two. */
function connect(server: Server, process: VirtualProcess, travel: () => Promise<void>): SqlStore {
  const { time, database, statements, lockers, onTerm, onRequest } = server;
  const run = <T>(text: string, statement: () => T): Promise<T> =>
    ask("a statement", process, async () => {
      await travel();
      while (database.isTransaction || (writesLease.test(text) && lockers.size > 0)) await time.pause(1);
      const result = statement();
      await travel();
      return result;
    });
  const read = (text: string, parameters: readonly SqlValue[] = []) => {
    const found = statements.rows(text, parameters);
    if (acquiresLease.test(text))
      for (const { term } of found) onTerm({ chain: Number(parameters[0]), number: Number(term) }, process);
    return found;
  };
  const change: SqlConnection["change"] = (text, parameters = []) =>
    run(text, () => {
      const [contract, callData] = [parameters[columns.indexOf("contract")], parameters[columns.indexOf("call_data")]];
      if (requestsSettlement.test(text)) onRequest({ to: String(contract) as Hex, data: String(callData) as Hex });
      return statements.change(text, parameters);
    });
  return {
    rows: (text, parameters) => run(text, () => read(text, parameters)),
    change,
    changeUnsynced: change,
    transaction: (work) =>
      ask("a transaction", process, async () => {
        await travel();
        const result = await runTransaction(server, process, travel, work);
        await travel();
        return result;
      }),
    nowMs: "now_ms()",
    lockRows,
    isListed: (expression, parameter) =>
      `${expression} IN (SELECT value FROM json_each('["' || replace(${parameter}, ',', '","') || '"]'))`,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Waits for a response as long as a process would; the request takes effect even without a response. */
function ask<T>(what: string, process: VirtualProcess, work: () => Promise<T>): Promise<T> {
  return process.call(what, 0, async () => {
    const answeredController = new AbortController();
    const timeout = async (): Promise<never> => {
      await process.pause(statementTimeoutMs, answeredController.signal);
      throw new StoreError("the virtual database took too long");
    };
    try {
      return await Promise.race([work(), timeout()]);
    } finally {
      answeredController.abort();
    }
  });
}

async function runTransaction<T>(
  { time, database, statements, lockers, onLeaderCheck, onLeaderWrite }: Server,
  process: VirtualProcess,
  travel: () => Promise<void>,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const locker = {};
  let checked: Term | undefined;
  let isOpen = false;
  const open = async () => {
    if (isOpen) return;
    // A process that dies between its guard and its writes breaks the connection, which ends the transaction.
    if (checked !== undefined) await Promise.race([process.call("its writes", 0, travel), process.gone]);
    while (database.isTransaction) await time.pause(1);
    database.exec("BEGIN");
    isOpen = true;
  };
  try {
    const result = await work({
      rows: async (text, parameters = []) => {
        if (!checksTerm.test(text)) await open();
        else {
          checked = { chain: Number(parameters[0]), number: Number(parameters[1]) };
          if (text.endsWith(lockRows)) lockers.add(locker);
          onLeaderCheck(process);
        }
        return statements.rows(text, parameters);
      },
      change: async (text, parameters) => {
        await open();
        return statements.change(text, parameters);
      },
    });
    if (isOpen && checked !== undefined) {
      const [lease] = statements.rows("SELECT term FROM settler WHERE chain_id = $1", [checked.chain]);
      onLeaderWrite(checked, Number(lease?.["term"]));
    }
    if (isOpen) database.exec("COMMIT");
    isOpen = false;
    return result;
  } finally {
    if (isOpen) database.exec("ROLLBACK");
    lockers.delete(locker);
  }
}
