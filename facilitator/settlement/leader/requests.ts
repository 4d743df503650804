import { StoreError, formatValues, type SqlConnection, type SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { toAuthorizationKey, settlementColumns, toSettlementRow, toRecorded, toSettlement } from "../ledger/rows.ts";
import type { Recorded, Settlement } from "../settlement.ts";

/**
 * Settlement table through which replicas communicate: any replica requests a settlement and watches it, and the settling replica picks it
 * up. Any method throws `StoreError` when the database is unavailable.
 */
export type Requests = Readonly<{
  /**
   * Requests a settlement and makes the caller its owner; repeated requests have no effect. Returns false when another payment has the same
   * authorization nonce.
   */
  add: (settlement: Settlement) => Promise<boolean>;
  /** Reads the records of settlements, with the newest transaction of each; omits settlements without a record. */
  states: (ids: readonly Hex[]) => Promise<ReadonlyMap<Hex, Recorded>>;
  /** Returns why the last request for a settlement was declined, if it was. */
  unsentReason: (id: Hex) => Promise<string | undefined>;
}>;

/** Requests as handled by the settling replica. */
export type LeaderRequests = Readonly<{
  /** Returns requested settlements without a transaction, oldest first. */
  waiting: (countMax: number) => Promise<readonly Settlement[]>;
  /** Withdraws a request that could not be sent, and records why. Nothing was sent, and nothing will be sent until it is requested again. */
  decline: (id: Hex, message: string) => Promise<void>;
}>;

/** Dependencies of requests. `guard` runs first when a request is declined, which only the settling replica may do. */
export type RequestDependencies = Readonly<{
  store: SqlStore;
  clock: () => number;
  guard?: (connection: SqlConnection) => Promise<void>;
}>;

const unsentAgeMaxMs = 3_600_000;

const statesSql = `SELECT id, state, transaction_hash, amount, reason, message, owner,
    (SELECT hash FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id
      ORDER BY length(max_fee_per_gas) DESC, max_fee_per_gas DESC LIMIT 1) AS newest
  FROM settlement WHERE chain_id = $1 AND `;

const waitingSql = `SELECT * FROM settlement WHERE chain_id = $1 AND state = 'begun'
    AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id)
  ORDER BY begun_at_ms, id LIMIT $2`;

const inTheWaySql = `SELECT id FROM settlement WHERE chain_id = $1
    AND (id = $2 OR (COALESCE(nonce_space, asset) = $3 AND payer = $4 AND authorization_nonce = $5 AND state <> 'failed'))`;

/** Max insert attempts, because a request may be declined between two statements. */
const insertAttemptsMax = 3;

const withdrawSql = `DELETE FROM settlement WHERE chain_id = $1 AND id = $2 AND state = 'begun'
  AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id)`;

const storeReasonSql = `INSERT INTO unsent (chain_id, id, message, at_ms) VALUES ($1, $2, $3, $4)
  ON CONFLICT (chain_id, id) DO UPDATE SET message = excluded.message, at_ms = excluded.at_ms`;

/** Creates the settlement requests of one chain. */
export function createRequests(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock, guard = async () => undefined }: RequestDependencies,
): Requests & LeaderRequests {
  return {
    add: async (settlement) => {
      const row = toSettlementRow(chainId, settlement);
      const text = `INSERT INTO settlement (${settlementColumns}) VALUES ${formatValues([row])} ON CONFLICT DO NOTHING`;
      for (let attempt = 1; attempt <= insertAttemptsMax; attempt += 1) {
        if ((await store.change(text, row)) === 1) return true;
        const found = await store.rows(inTheWaySql, [chainId, settlement.id, ...toAuthorizationKey(settlement)]);
        if (found.some(({ id }) => id === settlement.id)) return true;
        if (found.length > 0) return false;
        // The conflicting request has since been declined, so the authorization nonce is available again.
      }
      throw new StoreError(
        "requests that conflict with this settlement keep appearing and disappearing; settle it again",
      );
    },
    states: async (ids) => {
      const rows = await store.rows(statesSql + store.isListed("id", "$2"), [chainId, ids.join(",")]);
      return new Map(rows.map((row) => [String(row["id"]) as Hex, toRecorded(row)]));
    },
    unsentReason: async (id) => {
      const [row] = await store.rows("SELECT message FROM unsent WHERE chain_id = $1 AND id = $2", [chainId, id]);
      return row === undefined ? undefined : String(row["message"]);
    },
    waiting: async (countMax) => (await store.rows(waitingSql, [chainId, countMax])).map(toSettlement),
    decline: (id, message) =>
      store.transaction(async (connection) => {
        await guard(connection);
        await connection.change(withdrawSql, [chainId, id]);
        await connection.change(storeReasonSql, [chainId, id, message, clock()]);
        await connection.change("DELETE FROM unsent WHERE at_ms < $1", [clock() - unsentAgeMaxMs]);
      }),
  };
}
