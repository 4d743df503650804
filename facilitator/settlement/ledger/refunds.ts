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

/** A refund's signed transaction, and the payee that signed it. */
export type SignedRefund = Omit<Refund, "state"> & Readonly<{ signer: Hex }>;

/** Record of refunds. Writes are durable when their promise resolves. Any method throws `StoreError`. */
export type Refunds = ReturnType<typeof createRefundStore>;

const nonceSql = "SELECT id FROM refund WHERE chain_id = $1 AND signer = $2 AND nonce = $3 AND state <> 'failed'";
const beginSql = `INSERT INTO refund (chain_id, id, amount, state, hash, signer, nonce, raw_transaction, at_ms)
  VALUES ($1, $2, $3, 'sent', $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`;
const replaceSql = `UPDATE refund SET amount = $3, state = 'sent', hash = $4, signer = $5, nonce = $6, raw_transaction = $7, at_ms = $8
  WHERE chain_id = $1 AND id = $2 AND (state = 'failed' OR (state = 'sent' AND hash = $9)) AND NOT EXISTS
    (SELECT 1 FROM refund AS other WHERE chain_id = $1 AND id <> $2 AND signer = $5 AND nonce = $6 AND state <> 'failed')`;
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
    /** Records a signed refund before it is sent, replacing a failed one or `lost`. Returns false if there is another, or one with its nonce. */
    begin: async (
      { id, amount, hash, signer, nonce, rawTransaction }: SignedRefund,
      lost: Hex = "0x",
    ): Promise<boolean> => {
      const values = [chainId, id, String(amount), hash, signer.toLowerCase(), nonce, rawTransaction, clock()];
      return (await store.change(beginSql, values)) === 1 || (await store.change(replaceSql, [...values, lost])) === 1;
    },
    /** Finds the settlement whose refund has a nonce. */
    findByNonce: async ({ signer, nonce }: Pick<SignedRefund, "signer" | "nonce">): Promise<string | undefined> => {
      const [row] = await store.rows(nonceSql, [chainId, signer.toLowerCase(), nonce]);
      return row && String(row["id"]);
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
