import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { Settlement } from "../settlement.ts";
import { toSettlement } from "./rows.ts";

/** A settlement that the ledger says is settled, the transaction that did it, and when that was noted, in milliseconds since 1970. */
export type FinishedSettlement = Readonly<{ settlement: Settlement; transaction: Hex; finishedAtMs: number }>;

/** A place in the order in which settlements finished; those of one millisecond follow each other by id, and `""` is before them all. */
export type LedgerPlace = Readonly<{ finishedAtMs: number; id: string }>;

/** Finished settlements of a ledger. Read only. */
export type FinishedSettlements = Readonly<{
  /** Lists those settled after a place and before a moment in milliseconds since 1970, the oldest first. @throws {StoreError} */
  settledAfter: (place: LedgerPlace, beforeMs: number, max: number) => Promise<readonly FinishedSettlement[]>;
}>;

// SQLite takes the partial index `settlement_finished` only where the query has the index's own condition word for word, and prefers the
// primary key, which has every row of the chain, unless a plus sign takes `chain_id` out of its choice. PostgreSQL needs neither.
const settledSql = `SELECT * FROM settlement
  WHERE +chain_id = $1 AND state = 'settled' AND state <> 'begun'
    AND finished_at_ms >= $2 AND finished_at_ms < $3 AND (finished_at_ms > $2 OR id > $4)
  ORDER BY finished_at_ms, id LIMIT $5`;

/** Reads the ledger of one chain over a store that has its tables. */
export function createFinishedSettlements(
  { chainId }: Readonly<{ chainId: number }>,
  { store }: Readonly<{ store: Pick<SqlStore, "rows"> }>,
): FinishedSettlements {
  return {
    settledAfter: async ({ finishedAtMs, id }, beforeMs, max) => {
      const rows = await store.rows(settledSql, [chainId, finishedAtMs, beforeMs, id, max]);
      return rows.map((row) => ({
        settlement: toSettlement(row),
        transaction: String(row["transaction_hash"]) as Hex,
        finishedAtMs: Number(row["finished_at_ms"]),
      }));
    },
  };
}
