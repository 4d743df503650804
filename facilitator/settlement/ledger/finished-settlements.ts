import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { Settlement } from "../settlement.ts";
import { toSettlement } from "./rows.ts";

/** A settlement that the ledger says is settled, and the transaction that did it. */
export type FinishedSettlement = Readonly<{ settlement: Settlement; transaction: Hex }>;

/** What a ledger has of settlements that are over. Reads alone. */
export type FinishedSettlements = Readonly<{
  /** The newest of those that were settled from one moment to before another, in milliseconds since 1970. @throws {StoreError} */
  settledBetween: (fromMs: number, beforeMs: number, max: number) => Promise<readonly FinishedSettlement[]>;
}>;

const settledSql = `SELECT * FROM settlement
  WHERE chain_id = $1 AND state = 'settled' AND finished_at_ms >= $2 AND finished_at_ms < $3
  ORDER BY finished_at_ms DESC, id LIMIT $4`;

/** Reads the ledger of one chain over a store that has its tables. */
export function createFinishedSettlements(
  { chainId }: Readonly<{ chainId: number }>,
  { store }: Readonly<{ store: SqlStore }>,
): FinishedSettlements {
  return {
    settledBetween: async (fromMs, beforeMs, max) => {
      const rows = await store.rows(settledSql, [chainId, fromMs, beforeMs, max]);
      return rows.map((row) => ({
        settlement: toSettlement(row),
        transaction: String(row["transaction_hash"]) as Hex,
      }));
    },
  };
}
