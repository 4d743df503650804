import type { SqlStore } from "#daemon/sql/store.ts";
import type { Caller } from "../callers/caller.ts";
import type { Hex } from "#x402/hex.ts";
import type { SettleAnswer } from "#x402/answer.ts";

/**
 * Ownership of settlements on record. The first call of `/settle` owns the payment: column `owner` is written by the
 * statement that puts the settlement on record. Only its owner gets a success, so that one payment never pays two
 * sellers, or one seller twice. Whoever owns nothing by now leaves the column empty, and the next caller may take it.
 * Each method is one statement, but for one that may be two.
 */
export type Ownership = Readonly<{
  /** Makes a caller the owner of what nobody owns. True when it is theirs now, or was before. */
  acquire: (id: Hex, owner: string) => Promise<boolean>;
  /** Makes it nobody's, for the next caller to take. */
  release: (id: Hex, owner: string) => Promise<void>;
  /** Makes it nobody's for good. True for the one call that did. */
  close: (id: Hex, owner: string) => Promise<boolean>;
  /** Notes that a seller is about to verify a payment. False, and nothing is noted, while its payer has {@link payerNotesMax} notes. */
  noteVerified: (payment: Readonly<{ id: Hex; payer: Hex }>, owner: string) => Promise<boolean>;
  /** Notes that what a seller verified was refused: it delivers nothing for it. */
  forgetRefused: (id: Hex, owner: string) => Promise<void>;
  /** Whether a seller verified a payment once at most, besides what was refused. */
  verifiedOnce: (id: Hex, owner: string) => Promise<boolean>;
  /**
   * Forgets notes of a time, but for those of a payment's owner that keep it from a second success. Looks at about `max` of them,
   * and returns where the next step begins; undefined when there is none.
   */
  forgetNotes: (place: NotesPlace, max: number) => Promise<number | undefined>;
}>;

/** A time in which payments were last verified, in milliseconds since 1970, without its end. */
export type NotesPlace = Readonly<{ fromMs: number; beforeMs: number }>;

/** Owner of what nobody can own any more; no caller has this name. */
const closed = "closed";

const acquireSql = `UPDATE settlement SET owner = $3 WHERE chain_id = $1 AND id = $2 AND (owner IS NULL OR owner = $3)`;
const releaseSql = "UPDATE settlement SET owner = NULL WHERE chain_id = $1 AND id = $2 AND owner = $3";
const closeSql = `UPDATE settlement SET owner = '${closed}' WHERE chain_id = $1 AND id = $2 AND owner = $3`;

/**
 * Most notes of one payer. Whoever can pay once can sign any number of payments, each under any number of identifiers, and have them verified for nothing;
 * a settlement that ends takes its notes along.
 */
export const payerNotesMax = 500;

const noteVerifiedSql = `INSERT INTO verification (chain_id, id, owner, times, at_ms, payer)
  SELECT CAST($1 AS bigint), $2, $3, 1, CAST($4 AS bigint), $5
  WHERE (SELECT count(*) FROM verification WHERE chain_id = $1 AND payer = $5) < ${payerNotesMax}
  ON CONFLICT (chain_id, id, owner) DO UPDATE SET times = verification.times + 1, at_ms = excluded.at_ms`;
const ofVerification = "chain_id = $1 AND id = $2 AND owner = $3";
const forgetFirstSql = `DELETE FROM verification WHERE ${ofVerification} AND times = 1`;
const forgetLaterSql = `UPDATE verification SET times = times - 1 WHERE ${ofVerification} AND times > 1`;
const verifiedSql = "SELECT times FROM verification WHERE chain_id = $1 AND id = $2 AND owner = $3 AND times > 1";

const stepEndSql = "SELECT at_ms FROM verification WHERE at_ms >= $1 AND at_ms < $2 ORDER BY at_ms LIMIT 1 OFFSET $3";
// One verification of a payment on record says no more than none, and another one would be refused.
const forgetNotesSql = `DELETE FROM verification WHERE at_ms >= $1 AND at_ms < $2 AND (times = 1 OR NOT EXISTS (
  SELECT 1 FROM settlement WHERE settlement.chain_id = verification.chain_id AND settlement.id = verification.id
    AND settlement.owner = verification.owner))`;

/** Creates the ownership of one chain's settlements over a store that has the ledger's tables. */
export function createOwnership(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock }: Readonly<{ store: SqlStore; clock: () => number }>,
): Ownership {
  return {
    acquire: async (id, owner) => (await store.change(acquireSql, [chainId, id, owner])) === 1,
    release: async (id, owner) => {
      await store.change(releaseSql, [chainId, id, owner]);
    },
    close: async (id, owner) => (await store.change(closeSql, [chainId, id, owner])) === 1,
    noteVerified: async ({ id, payer }, owner) =>
      (await store.change(noteVerifiedSql, [chainId, id, owner, clock(), payer.toLowerCase()])) === 1,
    forgetRefused: async (id, owner) => {
      // What comes between the two leaves one more than there were, which denies a second success.
      if ((await store.change(forgetFirstSql, [chainId, id, owner])) === 1) return;
      await store.change(forgetLaterSql, [chainId, id, owner]);
    },
    verifiedOnce: async (id, owner) => (await store.rows(verifiedSql, [chainId, id, owner])).length === 0,
    forgetNotes: async ({ fromMs, beforeMs }, max) => {
      const [end] = await store.rows(stepEndSql, [fromMs, beforeMs, max]);
      const nextMs = end && Math.max(Number(end["at_ms"]), fromMs + 1);
      await store.change(forgetNotesSql, [fromMs, nextMs ?? beforeMs]);
      return nextMs;
    },
  };
}

/** Answer about a settlement, and the caller that it is for. */
type KnownSettlement = Readonly<{ id: Hex; answer: SettleAnswer; caller: Caller; isOwner: boolean }>;

/**
 * Derives the answer for one caller. Anyone may know that nothing was charged; a success, or that there may be one, is
 * for the owner. A caller without a name that gets `settlement_pending` can't be known again, so the settlement is
 * nobody's from then on: the next call gets the outcome. So the retry of `@x402/core`'s middleware does, and a client
 * that comes back with its payment.
 */
export async function answerFor(
  { id, answer, caller, isOwner }: KnownSettlement,
  ownership: Ownership,
): Promise<SettleAnswer> {
  if (answer.state !== "settled" && answer.state !== "pending") return answer;
  const duplicate = { state: "duplicate", transaction: answer.transaction } as const;
  if (!isOwner) return duplicate;
  if (answer.state === "pending") {
    if (caller.kind === "call") await ownership.release(id, caller.owner);
    return answer;
  }
  if (caller.kind === "sale" || caller.kind === "call") return answer;
  if (caller.kind === "seller" && (await ownership.verifiedOnce(id, caller.owner))) return answer;
  return (await ownership.close(id, caller.owner)) ? answer : duplicate;
}
