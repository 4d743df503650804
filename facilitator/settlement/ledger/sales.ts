import type { SqlConnection, SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { BoundIdentifier } from "../../callers/caller.ts";

/** A settlement about to be requested: the calling seller's name, if any, and the payment-identifier, if any. */
export type Sale = Readonly<{
  id: Hex;
  payer: Hex;
  seller: string | undefined;
  identifier: BoundIdentifier | undefined;
}>;

/** Sellers and payment-identifiers of settlements. Writes are durable when their promise resolves. Any method throws `StoreError`. */
export type Sales = ReturnType<typeof createSaleStore>;

/** Cost in wei of a seller's settlements in one hour, and of the most expensive one; the hour counts until `forgottenMs`. */
export type HourlyGas = Readonly<{ spent: bigint; dearest: bigint; forgottenMs: number }>;

/** Max identifiers of one payer; older ones are evicted, because the payer may sign any number of payments. */
export const payerIdentifiersMax = 500;

const addIdentifierSql = `INSERT INTO identifier (chain_id, payer, id, fingerprint, at_ms) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT DO NOTHING`;
const evictSql = `DELETE FROM identifier WHERE chain_id = $1 AND payer = $2 AND at_ms <= (SELECT at_ms FROM identifier
  WHERE chain_id = $1 AND payer = $2 ORDER BY at_ms DESC LIMIT 1 OFFSET ${payerIdentifiersMax})`;
const conflictSql =
  "SELECT 1 AS conflict FROM identifier WHERE chain_id = $1 AND payer = $2 AND id = $3 AND fingerprint <> $4";
const addSaleSql = "INSERT INTO sale (chain_id, id, seller, at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const addGasSql = "UPDATE sale SET gas_paid = $3 WHERE chain_id = $1 AND id = $2 AND gas_paid IS NULL RETURNING seller";
// Column `day` is an hour, e.g. 2026-01-31T05. In rows of earlier releases it is a day in UTC, which counts as its first hour.
const dailyGasSql =
  "SELECT day, gas_paid, dearest FROM seller_day WHERE chain_id = $1 AND seller = $2 AND day >= $3 ORDER BY day";
const setHourSql = `INSERT INTO seller_day (chain_id, seller, day, gas_paid, dearest) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (chain_id, seller, day) DO UPDATE SET gas_paid = excluded.gas_paid, dearest = excluded.dearest`;
const forgetIdentifiersSql = `DELETE FROM identifier WHERE (chain_id, payer, id) IN
  (SELECT chain_id, payer, id FROM identifier WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`;
const forgetSalesSql = `DELETE FROM sale WHERE (chain_id, id) IN
  (SELECT chain_id, id FROM sale WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`;

export type SalesOptions = Readonly<{
  chainId: number;
  /** Chain under which identifiers of all networks are recorded. Default: `chainId`. */
  firstChainId?: number;
}>;

export function createSaleStore(
  { chainId, firstChainId = chainId }: SalesOptions,
  { store, clock }: Readonly<{ store: SqlStore; clock: () => number }>,
) {
  const readHours = async ({ rows }: Pick<SqlConnection, "rows">, seller: string, sinceMs: number) => {
    const gasRows = await rows(dailyGasSql, [chainId, seller, formatHour(sinceMs)]);
    return gasRows.map(({ day, gas_paid: spent, dearest }): HourlyGas => {
      const forgottenMs = readHour(String(day)) + hourMs + dayMs;
      return { spent: BigInt(String(spent)), dearest: BigInt(String(dearest)), forgottenMs };
    });
  };
  const isConflict = async (
    { rows }: Pick<SqlConnection, "rows">,
    payer: Hex,
    { id, fingerprint }: BoundIdentifier,
  ): Promise<boolean> => (await rows(conflictSql, [firstChainId, payer.toLowerCase(), id, fingerprint])).length > 0;
  return {
    isConflict: (payer: Hex, identifier: BoundIdentifier): Promise<boolean> => isConflict(store, payer, identifier),
    add: ({ id, payer, seller, identifier }: Sale): Promise<boolean> =>
      store.transaction(async (connection) => {
        if (identifier !== undefined) {
          const by = [firstChainId, payer.toLowerCase()] as const;
          const identifierValues = [...by, identifier.id, identifier.fingerprint, clock()];
          if ((await connection.change(addIdentifierSql, identifierValues)) === 1)
            await connection.change(evictSql, by);
          else if (await isConflict(connection, payer, identifier)) return false;
        }
        if (seller !== undefined) await connection.change(addSaleSql, [chainId, id, seller, clock()]);
        return true;
      }),
    /** Records settlements' gas in wei, once, for their sellers and the current hour. Returns the added amounts, by seller. */
    addGas: async (paid: ReadonlyMap<Hex, bigint>): Promise<ReadonlyMap<string, bigint>> => {
      const bySeller = new Map<string, bigint>();
      if (paid.size === 0) return bySeller;
      await store.transaction(async (connection) => {
        bySeller.clear();
        for (const [id, wei] of paid) {
          const [row] = await connection.rows(addGasSql, [chainId, id, String(wei)]);
          if (row === undefined) continue;
          const seller = String(row["seller"]);
          bySeller.set(seller, (bySeller.get(seller) ?? 0n) + wei);
          const [{ spent, dearest } = { spent: 0n, dearest: 0n }] = await readHours(connection, seller, clock());
          const values = [String(spent + wei), String(wei > dearest ? wei : dearest)];
          await connection.change(setHourSql, [chainId, seller, formatHour(clock()), ...values]);
        }
      });
      return bySeller;
    },
    /** Returns what a seller's settlements cost in 24 hours, in wei, by hour; the first hour counts in full. */
    dailyGas: (seller: string): Promise<readonly HourlyGas[]> => readHours(store, seller, clock() - dayMs),
    /** Deletes at most `max` identifiers and sales older than a time. Returns the larger of the two numbers deleted. */
    forget: async (beforeMs: number, max: number): Promise<number> => {
      await store.change("DELETE FROM seller_day WHERE day < $1", [formatHour(clock() - 2 * dayMs)]);
      const counts = [forgetIdentifiersSql, forgetSalesSql].map((text) => store.change(text, [beforeMs, max]));
      return Math.max(...(await Promise.all(counts)));
    },
  };
}

export function sumSpent(hours: readonly HourlyGas[]): bigint {
  return hours.reduce((sum, { spent }) => sum + spent, 0n);
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function formatHour(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 13);
}

function readHour(text: string): number {
  return Date.parse(text.length === 10 ? text : `${text}:00Z`);
}
