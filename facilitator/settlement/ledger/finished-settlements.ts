import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { Settlement } from "../settlement.ts";
import { toSettlement } from "./rows.ts";

/** Settlement that is settled in the ledger, its successful transaction, and when this was recorded, in milliseconds since 1970. */
export type FinishedSettlement = Readonly<{ settlement: Settlement; transaction: Hex; finishedAtMs: number }>;

/** Position in the order in which settlements finished; within one millisecond they are ordered by id, and `""` sorts first. */
export type LedgerLocation = Readonly<{ finishedAtMs: number; id: string }>;

/** Read-only access to the finished settlements of a ledger. */
export type FinishedSettlements = Readonly<{
  /** Lists settlements finished after a position and before a time in milliseconds since 1970, oldest first. @throws {StoreError} */
  settledAfter: (place: LedgerLocation, beforeMs: number, max: number) => Promise<readonly FinishedSettlement[]>;
}>;

// SQLite uses the partial index `settlement_finished` only if the query repeats the index's condition word for word, and prefers the
// primary key, which has every row of the chain, unless a plus sign hides `chain_id` from the planner. PostgreSQL needs neither.
const settledSql = `SELECT * FROM settlement
  WHERE +chain_id = $1 AND state = 'settled' AND state <> 'begun'
    AND finished_at_ms >= $2 AND finished_at_ms < $3 AND (finished_at_ms > $2 OR id > $4)
  ORDER BY finished_at_ms, id LIMIT $5`;

/** Creates a reader of one chain's ledger on a store that has its tables. */
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
