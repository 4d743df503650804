import type { SqlConnection, SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { BoundIdentifier } from "../../callers/caller.ts";

/** Settlement about to be requested: the seller whose key its caller has, if it has a name, and the payment's own identifier. */
export type Sale = Readonly<{
  id: Hex;
  payer: Hex;
  seller: string | undefined;
  identifier: BoundIdentifier | undefined;
}>;

/** Sellers and payment-identifiers of settlements. Writes are durable when their promise resolves. Any method throws `StoreError`. */
export type Sales = Readonly<{
  /** Returns whether the payer's identifier stands for something else. */
  isConflict: (payer: Hex, identifier: BoundIdentifier) => Promise<boolean>;
  /** Records a sale before it is settled. Returns false, and records nothing, on a conflict. */
  add: (sale: Sale) => Promise<boolean>;
  /** Records the gas of settlements in wei, each once, and adds it to their sellers' day. Returns what it added, by seller. */
  addGas: (paid: ReadonlyMap<Hex, bigint>) => Promise<ReadonlyMap<string, bigint>>;
  /** Returns the wei that a seller's settlements have cost since midnight UTC, and the most that one of them did. */
  gasToday: (seller: string) => Promise<GasOfDay>;
  /** Deletes at most `max` identifiers and sales from before a time. Returns the larger of the two numbers deleted. */
  forget: (beforeMs: number, max: number) => Promise<number>;
}>;

type GasOfDay = Readonly<{ spent: bigint; dearest: bigint }>;

/** Max identifiers of one payer; older ones are forgotten, because the payer may sign any number of payments. */
export const payerIdentifiersMax = 500;

const addIdentifierSql = `INSERT INTO identifier (chain_id, payer, id, fingerprint, at_ms) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT DO NOTHING`;
const evictSql = `DELETE FROM identifier WHERE chain_id = $1 AND payer = $2 AND at_ms <= (SELECT at_ms FROM identifier
  WHERE chain_id = $1 AND payer = $2 ORDER BY at_ms DESC LIMIT 1 OFFSET ${payerIdentifiersMax})`;
const conflictSql =
  "SELECT 1 AS conflict FROM identifier WHERE chain_id = $1 AND payer = $2 AND id = $3 AND fingerprint <> $4";
const addSaleSql = "INSERT INTO sale (chain_id, id, seller, at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const addGasSql = "UPDATE sale SET gas_paid = $3 WHERE chain_id = $1 AND id = $2 AND gas_paid IS NULL RETURNING seller";
const gasOfDaySql = "SELECT gas_paid, dearest FROM seller_day WHERE chain_id = $1 AND seller = $2 AND day = $3";
const setDaySql = `INSERT INTO seller_day (chain_id, seller, day, gas_paid, dearest) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (chain_id, seller, day) DO UPDATE SET gas_paid = excluded.gas_paid, dearest = excluded.dearest`;
const forgetIdentifiersSql = `DELETE FROM identifier WHERE (chain_id, payer, id) IN
  (SELECT chain_id, payer, id FROM identifier WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`;
const forgetSalesSql = `DELETE FROM sale WHERE (chain_id, id) IN
  (SELECT chain_id, id FROM sale WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`;

/** Creates the record of one chain's sales on a store that has the ledger's tables. */
export function createSales(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock }: Readonly<{ store: SqlStore; clock: () => number }>,
): Sales {
  const readDay = async ({ rows }: Pick<SqlConnection, "rows">, seller: string): Promise<GasOfDay> => {
    const [row] = await rows(gasOfDaySql, [chainId, seller, formatDay(clock())]);
    return { spent: BigInt(String(row?.["gas_paid"] ?? 0)), dearest: BigInt(String(row?.["dearest"] ?? 0)) };
  };
  const isConflict = async (
    { rows }: Pick<SqlConnection, "rows">,
    payer: Hex,
    { id, fingerprint }: BoundIdentifier,
  ): Promise<boolean> => (await rows(conflictSql, [chainId, payer.toLowerCase(), id, fingerprint])).length > 0;
  return {
    isConflict: (payer, identifier) => isConflict(store, payer, identifier),
    add: ({ id, payer, seller, identifier }) =>
      store.transaction(async (connection) => {
        if (identifier !== undefined) {
          const by = [chainId, payer.toLowerCase()] as const;
          const added = [...by, identifier.id, identifier.fingerprint, clock()];
          if ((await connection.change(addIdentifierSql, added)) === 1) await connection.change(evictSql, by);
          else if (await isConflict(connection, payer, identifier)) return false;
        }
        if (seller !== undefined) await connection.change(addSaleSql, [chainId, id, seller, clock()]);
        return true;
      }),
    addGas: async (paid) => {
      const bySeller = new Map<string, bigint>();
      if (paid.size === 0) return bySeller;
      await store.transaction(async (connection) => {
        bySeller.clear();
        for (const [id, wei] of paid) {
          const [row] = await connection.rows(addGasSql, [chainId, id, String(wei)]);
          if (row === undefined) continue;
          const seller = String(row["seller"]);
          bySeller.set(seller, (bySeller.get(seller) ?? 0n) + wei);
          const { spent, dearest } = await readDay(connection, seller);
          const values = [String(spent + wei), String(wei > dearest ? wei : dearest)];
          await connection.change(setDaySql, [chainId, seller, formatDay(clock()), ...values]);
        }
      });
      return bySeller;
    },
    gasToday: (seller) => readDay(store, seller),
    forget: async (beforeMs, max) => {
      await store.change("DELETE FROM seller_day WHERE day < $1", [formatDay(beforeMs)]);
      const counts = [forgetIdentifiersSql, forgetSalesSql].map((text) => store.change(text, [beforeMs, max]));
      return Math.max(...(await Promise.all(counts)));
    },
  };
}

/** Formats a day in UTC, as `2026-01-31`. */
function formatDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
