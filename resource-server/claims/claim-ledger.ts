import type { SettleResponse } from "@x402/core/types";
import type { SqlStore, SqlValue } from "#daemon/sql/store.ts";
import type { ClaimOwner } from "./claim-owner.ts";
import { parseClaim, parseClaimKey, foundClaimColumns, readFoundClaim } from "./claim-schema.ts";
import type { ClaimKey, FoundClaim, NewClaim, PaymentClaim, SoldResponse } from "./payment-claim.ts";

/**
 * The claims on payments; see `payment-claim.ts` for the states. Each write commits before its promise resolves. A move that
 * does not fit the claim's state, or that is not its owner's, changes nothing and throws `ClaimMovedError`. Any method throws
 * `StoreError` when the database can't be used now.
 */
export type ClaimLedger = Readonly<{
  find(key: ClaimKey): Promise<FoundClaim | undefined>;
  /** Finds the key of the claim of a payer that has an identifier. */
  findIdentified(payer: string, identifier: string): Promise<ClaimKey | undefined>;
  /** (none) → working, owned by this process; false if there is a claim already, or one of the payer with the same identifier. The one atomic step that makes a payment buy once. */
  claim(claim: NewClaim): Promise<boolean>;
  /** Makes this process the owner of a claim that no living process has; undefined if one has it, or if it has nothing to give any more. */
  acquire(key: ClaimKey): Promise<PaymentClaim | undefined>;
  /** Owns the claim no longer. */
  disown(key: ClaimKey): Promise<void>;
  /** working → settling, with the response that the upstream gave. */
  settling(key: ClaimKey, response: SoldResponse): Promise<void>;
  /** settling → settling, with the transaction that is pending. */
  pending(key: ClaimKey, settlement: SettleResponse): Promise<void>;
  /** settling → settled. */
  settled(key: ClaimKey, settlement: SettleResponse): Promise<void>;
  /** settled, delivered → delivered; the signature is forgotten, and nobody owns it. */
  delivered(key: ClaimKey): Promise<void>;
  /** working, settling → (none): nothing was charged. */
  release(key: ClaimKey): Promise<void>;
  /** Claims that this process owns. */
  owned(countMax: number): Promise<readonly Readonly<{ key: ClaimKey; isWorking: boolean }>[]>;
  /** Releases what processes that are gone were working on, and disowns what else they owned; returns how many were released. */
  releaseAbandoned(): Promise<number>;
  /** Claims whose settlement has no known outcome and which no other process has, the longest untouched first. */
  unsettled(countMax: number): Promise<readonly FoundClaim[]>;
  /**
   * Forgets responses that no process delivers: of expired payments that were delivered; or, the oldest first, those that were delivered, or that
   * nobody took before the payment expired. Returns how many.
   */
  forgetResponses(which: "expired" | "delivered" | "untaken", countMax?: number): Promise<number>;
  /** Bytes of all responses that are kept. */
  responseBytes(): Promise<number>;
  /** Payers whose responses that are kept have more than so many bytes. */
  payersAbove(bytes: number): Promise<ReadonlySet<string>>;
  /** Counts the claims by state. */
  count(): Promise<Readonly<Record<string, number>>>;
  /** Forgets claims that ended, or wait for their client, since before `before` (Unix ms) and whose payments expired. */
  forget(before: number): Promise<number>;
}>;

/** `clock` gives milliseconds since 1970. */
export type ClaimLedgerDependencies = Readonly<{
  store: SqlStore;
  owner: Pick<ClaimOwner, "id" | "graceMs">;
  clock: () => number;
}>;

/** Creates the ledger of a store that has its tables. */
export function createClaimLedger({ store, owner, clock }: ClaimLedgerDependencies): ClaimLedger {
  const sql = buildClaimSql(store.nowMs);
  const mine = (key: ClaimKey) => [...listKeyValues(key), owner.id] as const;
  const move = async (what: string, text: string, parameters: readonly SqlValue[]): Promise<void> => {
    if ((await store.change(text, parameters)) !== 1) throw new ClaimMovedError(what);
  };
  return {
    async find(key) {
      const [row] = await store.rows(sql.find, listKeyValues(key));
      return row === undefined ? undefined : readFoundClaim(row);
    },
    async findIdentified(payer, identifier) {
      const [row] = await store.rows(sql.findIdentified, [payer, identifier]);
      return row === undefined ? undefined : parseClaimKey(row);
    },
    async claim({ key, route, fingerprint, digest, payload, requirements, ...claim }) {
      const texts = [route, fingerprint, digest, JSON.stringify(payload), JSON.stringify(requirements)] as const;
      const { idempotencyKey, validBefore, holder = null, identifier = null } = claim;
      const values = [...mine(key), ...texts, idempotencyKey, validBefore, clock(), holder, identifier];
      return (await store.change(sql.claim, values)) === 1;
    },
    async acquire(key) {
      const [row] = await store.rows(sql.acquire, [...mine(key), owner.graceMs()]);
      return row === undefined ? undefined : parseClaim(row);
    },
    async disown(key) {
      await store.change(sql.disown, mine(key));
    },
    settling: (key, { status, headers, body }) =>
      move("settling", sql.settling, [...mine(key), status, JSON.stringify(headers), body, clock()]),
    pending: (key, settlement) => move("pending", sql.pending, [...mine(key), JSON.stringify(settlement), clock()]),
    settled: (key, settlement) => move("settled", sql.settled, [...mine(key), JSON.stringify(settlement), clock()]),
    delivered: (key) => move("delivered", sql.delivered, [...mine(key), clock()]),
    release: (key) => move("released", sql.release, mine(key)),
    async owned(countMax) {
      const rows = await store.rows(sql.owned, [owner.id, countMax]);
      return rows.map((row) => ({ key: parseClaimKey(row), isWorking: row["state"] === "working" }));
    },
    async releaseAbandoned() {
      const released = await store.change(sql.releaseAbandonedWork, [owner.graceMs()]);
      await store.change(sql.disownAbandoned, [owner.graceMs()]);
      return released;
    },
    unsettled: async (countMax) => (await store.rows(sql.unsettled, [countMax, owner.graceMs()])).map(readFoundClaim),
    forgetResponses: (which, countMax = forgottenMax) => {
      const nowSeconds = which === "delivered" ? Number.MAX_SAFE_INTEGER : Math.floor(clock() / 1_000);
      const state = which === "untaken" ? "settled" : "delivered";
      return store.change(sql.forgetResponses, [state, nowSeconds, countMax]);
    },
    async responseBytes() {
      const [row] = await store.rows(sql.responseBytes);
      return Number(row?.["bytes"] ?? 0);
    },
    payersAbove: async (bytes) =>
      new Set((await store.rows(sql.payersAbove, [bytes])).map((row) => String(row["payer"]))),
    async count() {
      const rows = await store.rows(sql.count);
      return Object.fromEntries(rows.map((row) => [String(row["state"]), Number(row["claims"])]));
    },
    forget: (before) => store.change(sql.forget, [before, Math.floor(clock() / 1_000)]),
  };
}

/** Most responses of expired payments that are forgotten in one statement. */
const forgottenMax = 10_000;

function listKeyValues({ network, asset, payer, nonce }: ClaimKey) {
  return [network, asset, payer, nonce] as const;
}

/**
 * A claim is not in the state that a move of it needs, or not this process's. Another process took it over because this
 * one was cut off from the ledger for too long. Nothing was changed; the same payment, sent again, gets what it is
 * owed.
 */
export class ClaimMovedError extends Error {
  override readonly name = "ClaimMovedError";
  readonly code = "claim_moved";

  constructor(what: string) {
    super(`a payment claim can't become ${what}: it is not in the state before that, or no longer this process's.`);
  }
}

/**
 * Builds the ledger's statements, for SQLite and PostgreSQL alike. `$1` to `$4` are the key (network, asset, payer,
 * nonce) where a statement is about one claim, and `$5` is the process that writes: it changes only what it owns.
 */
function buildClaimSql(nowMs: string) {
  const byKey = "network = $1 AND asset = $2 AND payer = $3 AND nonce = $4";
  const mine = `${byKey} AND owner = $5`;
  // A parameter says how long past its time an owner is still taken for alive; see `ClaimOwner.graceMs`.
  const living = (graceMs: string) => `SELECT id FROM claim_owner WHERE expires_at_ms > ${nowMs} - ${graceMs}`;
  const free = (graceMs: string) => `(owner IS NULL OR owner NOT IN (${living(graceMs)}))`;
  return {
    find: `SELECT ${foundClaimColumns} FROM claims WHERE ${byKey}`,
    findIdentified: "SELECT network, asset, payer, nonce FROM claims WHERE payer = $1 AND identifier = $2",
    claim: `INSERT INTO claims (network, asset, payer, nonce, owner, state, route, fingerprint, digest, payload, requirements,
        idempotency_key, valid_before, updated_at_ms, holder, identifier)
      VALUES ($1, $2, $3, $4, $5, 'working', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
      ON CONFLICT DO NOTHING`,
    acquire: `UPDATE claims SET owner = $5
      WHERE ${byKey} AND (state <> 'delivered' OR status IS NOT NULL) AND (owner = $5 OR ${free("$6")}) RETURNING *`,
    disown: `UPDATE claims SET owner = NULL WHERE ${mine}`,
    settling: `UPDATE claims SET state = 'settling', status = $6, headers = $7, body = $8, updated_at_ms = $9
      WHERE ${mine} AND state = 'working'`,
    pending: `UPDATE claims SET settlement = $6, updated_at_ms = $7 WHERE ${mine} AND state = 'settling'`,
    settled: `UPDATE claims SET state = 'settled', settlement = $6, updated_at_ms = $7 WHERE ${mine} AND state = 'settling'`,
    delivered: `UPDATE claims SET state = 'delivered', payload = NULL, owner = NULL, updated_at_ms = $6
      WHERE ${mine} AND state IN ('settled', 'delivered')`,
    forgetResponses: `UPDATE claims SET state = 'delivered', payload = NULL, status = NULL, headers = NULL, body = NULL
      WHERE (network, asset, payer, nonce) IN (SELECT network, asset, payer, nonce FROM claims
        WHERE status IS NOT NULL AND state = $1 AND owner IS NULL AND valid_before < $2 ORDER BY updated_at_ms LIMIT $3)
        AND status IS NOT NULL AND owner IS NULL`,
    responseBytes: "SELECT sum(length(body)) AS bytes FROM claims WHERE status IS NOT NULL",
    payersAbove: "SELECT payer FROM claims WHERE status IS NOT NULL GROUP BY payer HAVING sum(length(body)) > $1",
    release: `DELETE FROM claims WHERE ${mine} AND state IN ('working', 'settling')`,
    owned: "SELECT network, asset, payer, nonce, state FROM claims WHERE owner = $1 LIMIT $2",
    releaseAbandonedWork: `DELETE FROM claims WHERE state = 'working' AND ${free("$1")}`,
    disownAbandoned: `UPDATE claims SET owner = NULL WHERE owner IS NOT NULL AND ${free("$1")}`,
    unsettled: `SELECT ${foundClaimColumns} FROM claims WHERE state = 'settling' AND ${free("$2")} ORDER BY updated_at_ms LIMIT $1`,
    count: "SELECT state, count(*) AS claims FROM claims GROUP BY state",
    forget: `DELETE FROM claims
      WHERE state IN ('settled', 'delivered') AND owner IS NULL AND updated_at_ms < $1 AND valid_before < $2`,
  };
}
