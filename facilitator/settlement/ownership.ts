import type { SqlStore } from "#daemon/sql/store.ts";
import type { Caller } from "../callers/caller.ts";
import type { Hex } from "#x402/hex.ts";
import type { SettleResult } from "#x402/payment-result.ts";

/**
 * Ownership of recorded settlements. The first call of `/settle` owns the payment: the statement that records the settlement also writes
 * column `owner`. Only the owner gets a success, so that one payment never pays two sellers, or one seller twice. If the owner has
 * disclaimed the payment, the column is empty, and the next caller can acquire it.
 */
export type Ownership = ReturnType<typeof createOwnership>;

export type NotesLocation = Readonly<{ fromMs: number; beforeMs: number }>;

/** Owner recorded for settlements that no caller can own any more; no caller has this name. */
const closedMark = "closed";

const acquireSql = `UPDATE settlement SET owner = $3 WHERE chain_id = $1 AND id = $2 AND (owner IS NULL OR owner = $3)`;
const releaseSql = "UPDATE settlement SET owner = NULL WHERE chain_id = $1 AND id = $2 AND owner = $3";
const closeSql = `UPDATE settlement SET owner = '${closedMark}' WHERE chain_id = $1 AND id = $2 AND owner = $3`;

/**
 * Max verification records per payer. A client with funds for one payment can sign any number of them, each with any number of identifiers,
 * and have them verified for free. Records are deleted when the settlement ends.
 */
export const payerNotesMax = 500;

const recordVerifiedSql = `INSERT INTO verification (chain_id, id, owner, times, at_ms, payer)
  SELECT CAST($1 AS bigint), $2, $3, 1, CAST($4 AS bigint), $5
  WHERE (SELECT count(*) FROM verification WHERE chain_id = $1 AND payer = $5) < ${payerNotesMax}
  ON CONFLICT (chain_id, id, owner) DO UPDATE SET times = verification.times + 1, at_ms = excluded.at_ms`;
const ofVerification = "chain_id = $1 AND id = $2 AND owner = $3";
const forgetFirstSql = `DELETE FROM verification WHERE ${ofVerification} AND times = 1`;
const forgetLaterSql = `UPDATE verification SET times = times - 1 WHERE ${ofVerification} AND times > 1`;
const verifiedSql = `SELECT times FROM verification WHERE ${ofVerification}`;

const stepEndSql = "SELECT at_ms FROM verification WHERE at_ms >= $1 AND at_ms < $2 ORDER BY at_ms LIMIT 1 OFFSET $3";
// For a recorded payment, a single verification has no effect any more, and no further one succeeds.
const forgetNotesSql = `DELETE FROM verification WHERE at_ms >= $1 AND at_ms < $2 AND (times = 1 OR NOT EXISTS (
  SELECT 1 FROM settlement WHERE settlement.chain_id = verification.chain_id AND settlement.id = verification.id
    AND settlement.owner = verification.owner))`;

export function createOwnership(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock }: Readonly<{ store: SqlStore; clock: () => number }>,
) {
  return {
    acquire: async (id: Hex, owner: string): Promise<boolean> =>
      (await store.change(acquireSql, [chainId, id, owner])) === 1,
    /** Removes the owner, so that the next caller can acquire it. */
    release: async (id: Hex, owner: string): Promise<void> => {
      await store.change(releaseSql, [chainId, id, owner]);
    },
    close: async (id: Hex, owner: string): Promise<boolean> =>
      (await store.change(closeSql, [chainId, id, owner])) === 1,
    /**
     * Records that a seller is about to verify a payment. Returns false and records nothing if its payer already has {@link payerNotesMax}
     * records.
     */
    recordVerified: async ({ id, payer }: Readonly<{ id: Hex; payer: Hex }>, owner: string): Promise<boolean> =>
      (await store.change(recordVerifiedSql, [chainId, id, owner, clock(), payer.toLowerCase()])) === 1,
    /** Removes the verification record of a rejected payment, for which the seller delivers nothing. */
    forgetRejected: async (id: Hex, owner: string): Promise<void> => {
      // A verification between the two statements leaves one extra record, which only prevents a second success.
      if ((await store.change(forgetFirstSql, [chainId, id, owner])) === 1) return;
      await store.change(forgetLaterSql, [chainId, id, owner]);
    },
    wasVerified: async (id: Hex, owner: string): Promise<boolean> =>
      (await store.rows(verifiedSql, [chainId, id, owner])).length > 0,
    /** Returns whether a seller verified a payment successfully no more than once. */
    verifiedOnce: async (id: Hex, owner: string): Promise<boolean> =>
      (await store.rows(`${verifiedSql} AND times > 1`, [chainId, id, owner])).length === 0,
    /**
     * Deletes verification records from a time range, except those of a payment's owner that prevent a second success. Processes about
     * `max` records, and returns the start of the next step; undefined when done.
     */
    forgetNotes: async ({ fromMs, beforeMs }: NotesLocation, max: number): Promise<number | undefined> => {
      const [end] = await store.rows(stepEndSql, [fromMs, beforeMs, max]);
      const nextMs = end && Math.max(Number(end["at_ms"]), fromMs + 1);
      await store.change(forgetNotesSql, [fromMs, nextMs ?? beforeMs]);
      return nextMs;
    },
  };
}

type KnownSettlement = Readonly<{ id: Hex; result: SettleResult; caller: Caller; isOwner: boolean }>;

/**
 * Derives the response for one caller. Any caller may learn that nothing was charged; a success, or its possibility, is only for the owner.
 * An unidentified caller that gets `settlement_pending` can't be recognized later, so the settlement then has no owner, and the next call
 * gets the outcome. This covers the retry of `@x402/core`'s middleware, and a client that resends its payment.
 */
export async function respondTo(
  { id, result, caller, isOwner }: KnownSettlement,
  ownership: Ownership,
): Promise<SettleResult> {
  if (result.state !== "settled" && result.state !== "pending") return result;
  const duplicateResult = { state: "duplicate", transaction: result.transaction } as const;
  if (!isOwner) return duplicateResult;
  if (result.state === "pending") {
    if (caller.kind === "call") await ownership.release(id, caller.owner);
    return result;
  }
  if (caller.kind === "sale" || caller.kind === "call") return result;
  if (caller.kind === "seller" && (await ownership.verifiedOnce(id, caller.owner))) return result;
  return (await ownership.close(id, caller.owner)) ? result : duplicateResult;
}
