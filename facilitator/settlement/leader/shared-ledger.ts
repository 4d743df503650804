import { randomUUID } from "node:crypto";
import { StoreError, type SqlConnection, type SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { createLedger, deleteChildlessSql, insertSettlements } from "../ledger/ledger.ts";
import { toAuthorizationKey, toRecordedSettlement, toSettlement } from "../ledger/rows.ts";
import { createOwnership } from "../ownership.ts";
import type { RecordedSettlement, Settlement } from "../settlement.ts";

type StoreDependencies = Readonly<{ store: SqlStore; clock: () => number }>;

export type SharedLedger = ReturnType<typeof createSharedLedger>;

export type LeaderLedger = ReturnType<SharedLedger["inTerm"]>;

export function createSharedLedger(options: Readonly<{ chainId: number }>, dependencies: StoreDependencies) {
  const { guard, ...lease } = createSettlerLease(options, dependencies);
  return {
    requests: createRequests(options, dependencies),
    ownership: createOwnership(options, dependencies),
    lease,
    inTerm: (term: number) => {
      const guardedDependencies = { ...dependencies, guard: guard(term) };
      return {
        ledger: createLedger(options, { ...guardedDependencies, keepsRequests: true }),
        requests: createRequests(options, guardedDependencies),
      };
    },
  };
}

const unsentAgeMaxMs = 3_600_000;

const statesSql = `SELECT id, state, transaction_hash, amount, reason, message, owner,
    (SELECT hash FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id
      ORDER BY length(max_fee_per_gas) DESC, max_fee_per_gas DESC LIMIT 1) AS newest
  FROM settlement WHERE chain_id = $1 AND `;

const waitingSql = `SELECT * FROM settlement WHERE chain_id = $1 AND state = 'begun'
    AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id)
  ORDER BY begun_at_ms, id LIMIT $2`;

const conflictSql = `SELECT id FROM settlement WHERE chain_id = $1
    AND (id = $2 OR (COALESCE(nonce_space, asset) = $3 AND payer = $4 AND authorization_nonce = $5 AND state <> 'failed'))`;

/** Max insert attempts: a conflicting request may be declined between two statements. */
const insertAttemptsMax = 3;

const storeReasonSql = `INSERT INTO unsent (chain_id, id, message, at_ms) VALUES ($1, $2, $3, $4)
  ON CONFLICT (chain_id, id) DO UPDATE SET message = excluded.message, at_ms = excluded.at_ms`;

/**
 * Creates the requests of one chain, stored in the settlement table: any replica requests a settlement and watches it, and the settling
 * replica executes it. `guard` runs first when a request is declined, which only the settling replica may do.
 */
export function createRequests(
  { chainId }: Readonly<{ chainId: number }>,
  {
    store,
    clock,
    guard = async () => undefined,
  }: StoreDependencies & Readonly<{ guard?: (connection: SqlConnection) => Promise<void> }>,
) {
  return {
    /** Requests a settlement once; the caller owns it. Returns false if another payment has the authorization nonce. */
    add: async (settlement: Settlement): Promise<boolean> => {
      for (let attempt = 1; attempt <= insertAttemptsMax; attempt += 1) {
        if ((await insertSettlements(store, chainId, [settlement], "")) === 1) return true;
        const conflicts = await store.rows(conflictSql, [chainId, settlement.id, ...toAuthorizationKey(settlement)]);
        if (conflicts.some(({ id }) => id === settlement.id)) return true;
        if (conflicts.length > 0) return false;
        // The conflicting request was declined in the meantime, so the authorization nonce is available again.
      }
      throw new StoreError(
        "requests that conflict with this settlement keep appearing and disappearing; settle it again",
      );
    },
    states: async (ids: readonly Hex[]): Promise<ReadonlyMap<Hex, RecordedSettlement>> => {
      const rows = await store.rows(statesSql + store.isListed("id", "$2"), [chainId, ids.join(",")]);
      return new Map(rows.map((row) => [String(row["id"]) as Hex, toRecordedSettlement(row)]));
    },
    unsentReason: async (id: Hex): Promise<string | undefined> => {
      const [row] = await store.rows("SELECT message FROM unsent WHERE chain_id = $1 AND id = $2", [chainId, id]);
      return row === undefined ? undefined : String(row["message"]);
    },
    /** Returns requested settlements without a transaction, oldest first. */
    waiting: async (countMax: number): Promise<readonly Settlement[]> =>
      (await store.rows(waitingSql, [chainId, countMax])).map(toSettlement),
    /** Withdraws a request that could not be sent, and records why. Nothing was sent, and nothing will be until it is requested again. */
    decline: (id: Hex, message: string): Promise<void> =>
      store.transaction(async (connection) => {
        await guard(connection);
        await connection.change(deleteChildlessSql, [chainId, id]);
        await connection.change(storeReasonSql, [chainId, id, message, clock()]);
        await connection.change("DELETE FROM unsent WHERE at_ms < $1", [clock() - unsentAgeMaxMs]);
      }),
  };
}

/** This replica no longer settles; the pending write is not executed. */
export class TermEndedError extends Error {
  override readonly name = "TermEndedError";
  readonly code = "term_ended";

  constructor() {
    super("another replica settles now");
  }
}

/** Lifetime of a term after its last renewal, by the database's clock. */
export const termLifeMs = 4_000;

/**
 * Creates this process's lease on a chain, which lets one replica settle for a term. The term lasts as long as the lease is renewed, by the
 * database's clock. Each term has a higher number than the previous one, and every write of the settling replica locks the lease and
 * compares that number, so that a replica that returns after a partition can write nothing once another has started a term.
 */
function createSettlerLease({ chainId }: Readonly<{ chainId: number }>, { store }: Pick<StoreDependencies, "store">) {
  const holder = randomUUID();
  const acquireSql = `INSERT INTO settler (chain_id, holder, term, expires_at_ms) VALUES ($1, $2, 1, ${store.nowMs} + $3)
    ON CONFLICT (chain_id) DO UPDATE
      SET holder = excluded.holder, term = settler.term + 1, expires_at_ms = excluded.expires_at_ms
      WHERE settler.expires_at_ms < ${store.nowMs} OR settler.holder = excluded.holder
    RETURNING term`;
  const renewSql = `UPDATE settler SET expires_at_ms = ${store.nowMs} + $3 WHERE chain_id = $1 AND term = $2`;
  return {
    /** Starts a term if there is no current one, and returns its number. */
    acquire: async (): Promise<number | undefined> => {
      const [row] = await store.rows(acquireSql, [chainId, holder, termLifeMs]);
      return row === undefined ? undefined : Number(row["term"]);
    },
    renew: async (term: number): Promise<boolean> => (await store.change(renewSql, [chainId, term, termLifeMs])) === 1,
    /** Ends the term, so that another replica need not wait for its expiry. */
    release: async (term: number): Promise<void> => {
      await store.change("UPDATE settler SET expires_at_ms = 0 WHERE chain_id = $1 AND term = $2", [chainId, term]);
    },
    /** @throws {TermEndedError} when the check finds that the term has ended. */
    guard:
      (term: number) =>
      async (connection: SqlConnection): Promise<void> => {
        const text = `SELECT term FROM settler WHERE chain_id = $1 AND term = $2${store.lockRows}`;
        if ((await connection.rows(text, [chainId, term])).length === 0) throw new TermEndedError();
      },
  };
}
