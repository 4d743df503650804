import type { DatabaseSync } from "node:sqlite";
import type { SettleResponse } from "@x402/core/types";
import { openSqlite } from "#daemon/sqlite.ts";
import { StartupError } from "#daemon/startup-error.ts";
import { claimFromRow } from "./claim-row.ts";
import { claimMigrations } from "./claim-schema.ts";
import { claimStatements } from "./claim-statements.ts";
import type { ClaimKey, NewClaim, PaymentClaim } from "./payment-claim.ts";
import type { SoldResponse } from "./sold-response.ts";

/**
 * The claims on payments; see `payment-claim.ts` for the states. Each write commits before its promise resolves. A move that
 * does not fit the claim's state changes nothing and throws, because two owners of one claim would be a fault of the program.
 */
export type ClaimLedger = Disposable &
  Readonly<{
    find(key: ClaimKey): Promise<PaymentClaim | undefined>;
    /** (none) → working; false when there is a claim already. The one atomic step that makes a payment buy once. */
    claim(claim: NewClaim): Promise<boolean>;
    /** working → settling, with the response that the upstream gave. */
    settling(key: ClaimKey, response: SoldResponse): Promise<void>;
    /** settling → settling, with the transaction that is pending. */
    pending(key: ClaimKey, settlement: SettleResponse): Promise<void>;
    /** settling → settled. */
    settled(key: ClaimKey, settlement: SettleResponse): Promise<void>;
    /** settled → delivered; the response and the signature are forgotten. */
    delivered(key: ClaimKey): Promise<void>;
    /** working, settling → (none): nothing was charged. */
    release(key: ClaimKey): Promise<void>;
    /** Releases what a process that is gone was working on; how many. */
    releaseWorking(): Promise<number>;
    /** Claims whose settlement has no known outcome, the longest untouched first. */
    unsettled(countMax: number): Promise<readonly PaymentClaim[]>;
    /** How many claims there are by state. */
    count(): Promise<Readonly<Record<string, number>>>;
    /** Forgets claims that ended, or wait for their client, since before `before` (Unix ms) and whose payments expired. */
    forget(before: number): Promise<number>;
  }>;

/**
 * Opens a ledger in a SQLite file (`:memory:` for tests). `clock` gives Unix ms.
 *
 * @throws {StartupError} when another process has it open: what that one works on would be taken for abandoned.
 */
export function openClaimLedger(path: string, { clock }: Readonly<{ clock: () => number }>): ClaimLedger {
  const database = openExclusively(path);
  const statements = claimStatements(database);
  return {
    async find(key) {
      const row = statements.find.get(...identity(key));
      return row === undefined ? undefined : claimFromRow(row);
    },
    async claim({ key, route, fingerprint, digest, payload, requirements, validBefore }) {
      const texts = [route, fingerprint, digest, JSON.stringify(payload), JSON.stringify(requirements)] as const;
      return statements.claim.run(...identity(key), ...texts, validBefore, clock()).changes === 1;
    },
    async settling(key, { status, headers, body }) {
      moved("settling", statements.settling.run(status, JSON.stringify(headers), body, clock(), ...identity(key)));
    },
    async pending(key, settlement) {
      moved("pending", statements.pending.run(JSON.stringify(settlement), clock(), ...identity(key)));
    },
    async settled(key, settlement) {
      moved("settled", statements.settled.run(JSON.stringify(settlement), clock(), ...identity(key)));
    },
    async delivered(key) {
      moved("delivered", statements.delivered.run(clock(), ...identity(key)));
    },
    async release(key) {
      moved("released", statements.release.run(...identity(key)));
    },
    releaseWorking: async () => Number(statements.releaseWorking.run().changes),
    unsettled: async (countMax) => statements.unsettled.all(countMax).map(claimFromRow),
    async count() {
      return Object.fromEntries(statements.count.all().map((row) => [String(row["state"]), Number(row["claims"])]));
    },
    forget: async (before) => Number(statements.forget.run(before, Math.floor(clock() / 1_000)).changes),
    [Symbol.dispose]: () => database.close(),
  };
}

/** SQLite's result code for a file that another connection has locked. */
const sqliteBusy = 5;

function openExclusively(path: string): DatabaseSync {
  try {
    const database = openSqlite(path, claimMigrations);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (cause) {
    if ((cause as Readonly<{ errcode?: number }>).errcode !== sqliteBusy) throw cause;
    throw new StartupError(
      `the ledger ${path} is in use; stop the other resource server, or set ledger.path to another file.`,
      { cause },
    );
  }
}

function identity({ network, asset, payer, nonce }: ClaimKey) {
  return [network, asset, payer, nonce] as const;
}

function moved(what: string, { changes }: Readonly<{ changes: number | bigint }>): void {
  if (changes !== 1) throw new Error(`a payment claim can't become ${what}: it is not in the state before that`);
}
