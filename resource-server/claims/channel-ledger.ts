import type { PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { SqlStore, SqlValue } from "#daemon/sql/store.ts";
import type { ChannelState } from "#x402/batch-settlement/channel.ts";
import { channelConfig, type ChannelConfig } from "#x402/batch-settlement/payload.ts";
import type { Hex } from "#x402/hex.ts";

/**
 * A channel that pays this seller; amounts in the token's smallest units. The charged total never falls and never exceeds the stored
 * voucher; claims never exceed it.
 */
export type Channel = Readonly<{
  id: Hex;
  network: PaymentRequirements["network"];
  config: ChannelConfig;
  charged: bigint;
  /** Highest total that the chain reported but this ledger had not charged. It need not include this ledger's sales. */
  adopted: bigint;
  voucher: Readonly<{ max: bigint; signature: Hex }> | undefined;
  state: ChannelState;
  syncedAtMs: number;
  /** Time, in Unix ms, since which charges have been waiting for a claim or transfer; undefined if everything is transferred. */
  owedSinceMs: number | undefined;
  /** Number of consecutive rejected claims, the last of them at `owedSinceMs`. */
  rejectedClaims: number;
  /** Whether the chain rejected its last claim: its vouchers may be worth nothing. */
  isRejected: boolean;
  /** Last refund started: its sale, and the payload that settles it. */
  refund: Readonly<{ sale: string; payload: Record<string, unknown> }> | undefined;
}>;

type OwedPage = Readonly<{ after?: Pick<Channel, "id" | "owedSinceMs"> | undefined; before?: number }>;

export type Charge = Readonly<{ before: bigint; amount: bigint; max: bigint; signature: Hex }>;

const big = z.string().transform(BigInt);
const row = z
  .object({
    id: z.string(),
    network: z.string(),
    config: z.string(),
    charged: big,
    adopted: big,
    max_claimable: big.nullable(),
    signature: z.string().nullable(),
    balance: big,
    claimed: big,
    withdraw_requested_at: z.number(),
    refund_nonce: big,
    synced_at_ms: z.number(),
    owed_since_ms: z.number().nullable(),
    refund: z.string().nullable(),
    rejected_at_ms: z.number().nullable(),
    rejected_claims: z.number(),
  })
  .transform(
    ({ id, network, config, charged, adopted, max_claimable: max, signature, refund, ...columns }): Channel => ({
      id: id as Hex,
      network: network as Channel["network"],
      config: channelConfig.parse(JSON.parse(config)),
      charged,
      adopted,
      voucher: max === null || signature === null ? undefined : { max, signature: signature as Hex },
      state: {
        balance: columns.balance,
        totalClaimed: columns.claimed,
        withdrawRequestedAt: columns.withdraw_requested_at,
        refundNonce: columns.refund_nonce,
      },
      syncedAtMs: columns.synced_at_ms,
      owedSinceMs: columns.owed_since_ms ?? undefined,
      rejectedClaims: columns.rejected_claims,
      isRejected: columns.rejected_at_ms !== null,
      refund: refund === null ? undefined : (JSON.parse(refund) as Channel["refund"]),
    }),
  );

/** SQL condition that compares two decimal strings without leading zeros as numbers, under any PostgreSQL collation. */
const isLarger = (text: string, other: string) =>
  `(length(${text}) > length(${other}) OR (length(${text}) = length(${other}) AND ${text} > ${other}))`;
const isClaimedAbove = isLarger("excluded.claimed", "channels.charged");
const owedSql = "SELECT * FROM channels WHERE owed_since_ms IS NOT NULL";

const sql = {
  find: "SELECT * FROM channels WHERE id = $1",
  observe: `INSERT INTO channels
      (id, network, config, charged, adopted, balance, claimed, withdraw_requested_at, refund_nonce, synced_at_ms)
    VALUES ($1, $2, $3, $5, $5, $4, $5, $6, $7, $8)
    ON CONFLICT (id) DO UPDATE SET balance = excluded.balance, claimed = excluded.claimed,
      withdraw_requested_at = excluded.withdraw_requested_at, refund_nonce = excluded.refund_nonce,
      synced_at_ms = excluded.synced_at_ms,
      charged = CASE WHEN ${isClaimedAbove} THEN excluded.claimed ELSE channels.charged END,
      adopted = CASE WHEN ${isClaimedAbove} THEN excluded.claimed ELSE channels.adopted END,
      max_claimable = CASE WHEN ${isClaimedAbove} THEN NULL ELSE channels.max_claimable END,
      signature = CASE WHEN ${isClaimedAbove} THEN NULL ELSE channels.signature END`,
  charge: `UPDATE channels SET charged = $3, max_claimable = $4, signature = $5, owed_since_ms = coalesce(owed_since_ms, $6)
    WHERE id = $1 AND charged = $2`,
  beginRefund: "UPDATE channels SET refund = $2 WHERE id = $1",
  owed: `${owedSql} AND owed_since_ms < $2 AND (owed_since_ms, id) > ($3, $4) ORDER BY owed_since_ms, id LIMIT $1`,
  withdrawing: `${owedSql} AND withdraw_requested_at > 0 ORDER BY withdraw_requested_at LIMIT $1`,
  count: "SELECT count(*) AS channels FROM channels",
  claimed: `UPDATE channels SET claimed = $2, owed_since_ms = CASE WHEN charged = $2 THEN CAST($4 AS bigint) ELSE CAST($3 AS bigint) END,
      rejected_at_ms = NULL, rejected_claims = 0 WHERE id = $1`,
  settled: "UPDATE channels SET owed_since_ms = NULL WHERE charged = claimed AND owed_since_ms <= $2 AND ",
  postpone: `UPDATE channels SET owed_since_ms = $2, rejected_at_ms = coalesce($3, rejected_at_ms),
      rejected_claims = rejected_claims + 1
    WHERE id = $1`,
  forget: `DELETE FROM channels WHERE id IN
    (SELECT id FROM channels WHERE owed_since_ms IS NULL AND charged = claimed AND synced_at_ms < $1 LIMIT 500)`,
};

/** Channels of a seller; each write is on disk when its promise resolves, except `observe`. Throws `StoreError` as `ClaimLedger` does. */
export type ChannelLedger = ReturnType<typeof createChannelLedger>;

export function createChannelLedger({
  store,
  clock,
  log,
}: Readonly<{ store: SqlStore; clock: () => number; log: Logger }>) {
  const lines = createBoundedLog(log);
  const list = async (text: string, parameters: readonly SqlValue[]): Promise<readonly Channel[]> =>
    (await store.rows(text, parameters)).map((found) => row.parse(found));
  const find = async (id: Hex): Promise<Channel | undefined> => (await list(sql.find, [id]))[0];
  return {
    find,
    /**
     * Records the state on the chain. A channel counts as charged at least the claimed amount, even if this ledger lacks the voucher: the
     * channel was unknown (specification, "Server state loss"), the ledger was restored from a backup, or another ledger uses the same key.
     * Vouchers accepted by another ledger are invisible here until claimed.
     */
    observe: async ({ id, network, config }: Pick<Channel, "id" | "network" | "config">, state: ChannelState) => {
      const { balance, totalClaimed, withdrawRequestedAt, refundNonce } = state;
      const knownChannel = await find(id);
      if (knownChannel !== undefined && totalClaimed > knownChannel.charged) {
        const facts = { channel: id, charged: String(knownChannel.charged), claimed: String(totalClaimed) };
        lines.error(
          { event: "channel-claimed-elsewhere", ...facts },
          "the chain claimed more than this ledger charged",
        );
      }
      const amounts = [String(balance), String(totalClaimed), withdrawRequestedAt, String(refundNonce)];
      await store.changeUnsynced(sql.observe, [id, network, JSON.stringify(config), ...amounts, clock()]);
      const channel = await find(id);
      if (channel === undefined) throw new TypeError(`channel ${id} was deleted while it was read`);
      return channel;
    },
    /**
     * Charges a sale and stores its voucher, atomically; returns false and changes nothing if the channel was charged differently in the
     * meantime.
     */
    charge: async (id: Hex, { before, amount, max, signature }: Charge) => {
      const amounts = [before, before + amount, max].map(String);
      return (await store.change(sql.charge, [id, ...amounts, signature, clock()])) === 1;
    },
    beginRefund: async (id: Hex, refund: Channel["refund"]) =>
      void (await store.change(sql.beginRefund, [id, JSON.stringify(refund)])),
    /**
     * Returns a page of channels with charges that have not been transferred to their payee since before `before` (Unix ms), oldest first.
     */
    owed: (countMax: number, { after, before = Number.MAX_SAFE_INTEGER }: OwedPage = {}) =>
      list(sql.owed, [countMax, before, after?.owedSinceMs ?? -1, after?.id ?? ""]),
    /** Returns channels with owed charges whose payer is withdrawing, in order of the earliest possible withdrawal. */
    withdrawing: (countMax: number) => list(sql.withdrawing, [countMax]),
    count: async () => Number((await store.rows(sql.count))[0]?.["channels"]),
    /** Records that everything up to `total`, the charge at `atMs`, is claimed; without a later charge, the transfer is still owed. */
    claimed: async (id: Hex, total: bigint, atMs: number) =>
      void (await store.change(sql.claimed, [id, String(total), atMs, clock()])),
    /** Records that the amounts claimed by `beforeMs` (Unix ms) of channels are transferred to their payee. */
    settled: async (ids: readonly Hex[], beforeMs: number) =>
      void (await store.change(sql.settled + store.isListed("id", "$1"), [ids.join(","), beforeMs])),
    /**
     * Postpones the next claim: the channel counts as owed from now on. If the chain rejected this claim, the channel counts as rejected
     * until a claim is accepted.
     */
    postpone: async (id: Hex, { isRejected }: Readonly<{ isRejected: boolean }>) =>
      void (await store.change(sql.postpone, [id, clock(), isRejected ? clock() : null])),
    /** Deletes channels without unclaimed charges whose state was not read since `before` (Unix ms); the chain has all their data. */
    forget: (before: number) => store.change(sql.forget, [before]),
  };
}

const maxPageSize = 1_000;

/** Reads the channels owed since before `before` (Unix ms) page by page; the first page may be empty. */
export async function* listOwed(ledger: Pick<ChannelLedger, "owed">, before?: number) {
  let page: readonly Channel[] = [];
  do {
    page = await ledger.owed(maxPageSize, { after: page.at(-1), ...(before !== undefined && { before }) });
    yield page;
  } while (page.length === maxPageSize);
}
