import type { DatabaseSync } from "node:sqlite";
import { openSqlite } from "#daemon/sqlite.ts";
import { StartupError } from "#daemon/startup-error.ts";
import { ledgerRows } from "./ledger-rows.ts";
import { ledgerMigrations } from "./ledger-schema.ts";
import type { Hex } from "../payment/hex.ts";
import type { Attempt, Outcome, Settlement, Unfinished } from "./settlement.ts";

/** Result code SQLITE_BUSY. */
const sqliteBusy = 5;

/** A settlement and the transaction that is about to be sent for it. */
type Begun = Readonly<{ settlement: Settlement; attempt: Attempt }>;

/**
 * The journal of settlements on one chain. What it was told is on disk when a method returns, whatever happens to the process
 * or the machine afterwards. At most one settlement at a time can be under way or settled for one authorization nonce.
 */
export type Ledger = Disposable &
  Readonly<{
    outcome: (id: Hex) => Outcome | undefined;
    /** Whether another payment than `settlement` has used, or is about to use, the same authorization nonce. */
    hasRival: (settlement: Pick<Settlement, "id" | "asset" | "payer" | "authorizationNonce">) => boolean;
    /** Notes transactions before they are sent, all of them or none. */
    begin: (begun: readonly Begun[]) => void;
    /** Notes outcomes, all of them or none. */
    finish: (outcomes: ReadonlyMap<Hex, Outcome>) => void;
    /** Forgets a transaction that no node took, and its settlement if it has no other. */
    withdraw: (attempt: Attempt) => void;
    unfinished: () => readonly Unfinished[];
    /** Forgets what was finished before the time given. Returns how many settlements those were. */
    prune: (finishedBeforeMs: number) => number;
  }>;

/**
 * Opens the ledger's SQLite file, making it if it is not there, and keeps every other process out of it: two that settle with one
 * signer would give out the same nonces. Disposing of it closes the file.
 *
 * @throws {StartupError} when another process has the file.
 */
export function openLedger(
  { path, chainId }: Readonly<{ path: string; chainId: number }>,
  { clock }: Readonly<{ clock: () => number }>,
): Ledger {
  const database = openExclusively(path);
  const rows = ledgerRows(database, chainId);
  return {
    outcome: rows.outcome,
    hasRival: rows.hasRival,
    begin: (begun) =>
      inTransaction(database, () => {
        for (const { settlement, attempt } of begun) {
          rows.insertSettlement(settlement, clock());
          rows.insertAttempt(settlement.id, attempt);
        }
      }),
    finish: (outcomes) =>
      inTransaction(database, () => {
        for (const [id, outcome] of outcomes) rows.updateOutcome(id, outcome, clock());
      }),
    withdraw: (attempt) => inTransaction(database, () => rows.deleteAttempt(attempt)),
    unfinished: rows.unfinished,
    prune: (finishedBeforeMs) => inTransaction(database, () => rows.deleteFinished(finishedBeforeMs)),
    [Symbol.dispose]: () => database.close(),
  };
}

function openExclusively(path: string): DatabaseSync {
  try {
    const database = openSqlite(path, ledgerMigrations);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    const { errcode } = error as Readonly<{ errcode?: number }>;
    if (errcode !== sqliteBusy) throw error;
    throw new StartupError(
      `the ledger ${path} is in use; stop the other facilitator or set ledger.path to another file.`,
      {
        cause: error,
      },
    );
  }
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
