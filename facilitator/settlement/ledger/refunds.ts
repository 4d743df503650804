import type { SqlRow, SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";

/**
 * A settlement's refund: one transfer back to its payer.
 * - `sent`: its transaction is signed and may have been sent; its outcome is not recorded.
 * - `refunded`: final.
 * - `failed`: the transaction reverted and moved nothing, so another one may follow.
 */
export type Refund = Readonly<{
  id: Hex;
  amount: bigint;
  state: "sent" | "refunded" | "failed";
  hash: Hex;
  /** Transaction nonce of the payee. */
  nonce: number;
  rawTransaction: Hex;
}>;

/** Record of refunds. Writes are durable when their promise resolves. Any method throws `StoreError`. */
export type Refunds = ReturnType<typeof createRefundStore>;

const beginSql = `INSERT INTO refund (chain_id, id, amount, state, hash, nonce, raw_transaction, at_ms)
  VALUES ($1, $2, $3, 'sent', $4, $5, $6, $7)
  ON CONFLICT (chain_id, id) DO UPDATE SET amount = excluded.amount, state = 'sent', hash = excluded.hash, nonce = excluded.nonce,
    raw_transaction = excluded.raw_transaction, at_ms = excluded.at_ms
  WHERE refund.state = 'failed' OR (refund.state = 'sent' AND refund.hash = $8)`;
const endSql = "UPDATE refund SET state = $4 WHERE chain_id = $1 AND id = $2 AND hash = $3 AND state = 'sent'";

export function createRefundStore(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock }: Readonly<{ store: SqlStore; clock: () => number }>,
) {
  return {
    find: async (id: Hex): Promise<Refund | undefined> => {
      const [row] = await store.rows("SELECT * FROM refund WHERE chain_id = $1 AND id = $2", [chainId, id]);
      return row && toRefund(row);
    },
    /** Records a signed refund before it is sent, replacing a failed one or `lost`. Returns false if there is another. */
    begin: async (
      { id, amount, hash, nonce, rawTransaction }: Omit<Refund, "state">,
      lost: Hex = "0x",
    ): Promise<boolean> => {
      const values = [chainId, id, String(amount), hash, nonce, rawTransaction, clock(), lost];
      return (await store.change(beginSql, values)) === 1;
    },
    end: async ({ id, hash }: Refund, state: "refunded" | "failed"): Promise<void> =>
      void (await store.change(endSql, [chainId, id, hash, state])),
  };
}

function toRefund(row: SqlRow): Refund {
  return {
    id: String(row["id"]) as Hex,
    amount: BigInt(String(row["amount"])),
    state: String(row["state"]) as Refund["state"],
    hash: String(row["hash"]) as Hex,
    nonce: Number(row["nonce"]),
    rawTransaction: String(row["raw_transaction"]) as Hex,
  };
}
