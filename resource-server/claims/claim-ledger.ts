import type { SettleResponse } from "@x402/core/types";
import type { SqlStore, SqlValue } from "#daemon/sql/store.ts";
import type { ClaimOwner } from "./claim-owner.ts";
import { parseClaim, parseClaimKey, foundClaimColumns, readFoundClaim } from "./claim-schema.ts";
import type { ClaimKey, FoundClaim, NewClaim, PaymentClaim, SoldResponse } from "./payment-claim.ts";

/**
 * How long a client whose connection broke at the end of a delivery can get the response again, even if its payment expires in the
 * meantime.
 */
const redeliveryMs = 300_000;

/** Max claims counted per state: counting more would delay requests. */
const countedMax = 100_000;

/** Max claims or responses deleted in one statement: some 5 ms in a ledger of millions. Max statements of one kind per {@link ClaimLedger.trim}. */
const deletedMax = 50;
const roundsMax = 100;

/**
 * Part of the limit of retained responses that all payers share, and each payer's share of the rest, so that a payer that fetches no
 * responses doesn't block others.
 */
const commonPart = 3 / 4;
const payerPart = 1 / 64;

/** The claim is in another state or belongs to another process. Nothing was changed; resending the payment returns what it is owed. */
export class ClaimMovedError extends Error {
  override readonly name = "ClaimMovedError";
  readonly code = "claim_moved";

  constructor(what: string) {
    super(
      `a payment claim can't become ${what}: it is not in the preceding state, or no longer belongs to this process.`,
    );
  }
}

type LedgerDependencies = Readonly<{
  store: SqlStore;
  clock: () => number;
  /** Clock by which claims and responses are old enough to delete. Default: `clock`. */
  retentionClock?: () => number;
}>;

/** Whether a power failure may lose a write, because another write flushes it or implies it. Default: false. */
type WriteOptions = Readonly<{ isUnsynced?: boolean | undefined }>;

/**
 * Claims on payments; see `payment-claim.ts` for the states. Each write is visible to all processes when its promise resolves, and on disk
 * except where `payment-claim.ts` says otherwise. A transition that does not fit the claim's state, or does not come from its owner,
 * changes nothing and throws `ClaimMovedError`. Any method throws `StoreError` when the database is unavailable.
 */
export type ClaimLedger = ReturnType<typeof createClaimLedger>;

export function createClaimLedger(
  limits: Readonly<{ responseBytes: number }>,
  {
    store,
    owner,
    clock,
    retentionClock = clock,
  }: LedgerDependencies & Readonly<{ owner: Pick<ClaimOwner, "id" | "graceMs"> }>,
) {
  const sql = buildClaimSql(store.nowMs);
  const listOwnKeyValues = (key: ClaimKey) => [...listKeyValues(key), owner.id] as const;
  const move = async (
    state: string,
    text: string,
    key: ClaimKey,
    values: readonly SqlValue[],
    by: WriteOptions = {},
  ) => {
    const write = by.isUnsynced === true ? store.changeUnsynced : store.change;
    if ((await write(text, [...listOwnKeyValues(key), ...values])) !== 1) throw new ClaimMovedError(state);
  };
  return {
    find: async (key: ClaimKey): Promise<FoundClaim | undefined> =>
      (await store.rows(sql.find, listKeyValues(key))).map(readFoundClaim)[0],
    findIdentified: async (payer: string, identifier: string): Promise<ClaimKey | undefined> =>
      (await store.rows(sql.findIdentified, [payer, identifier])).map(parseClaimKey)[0],
    /**
     * (none) → working, owned by this process; returns false if the payment already has a claim, or the payer has another one with the same
     * identifier. This single atomic step ensures that a payment buys only once.
     */
    claim: async ({ key, route, fingerprint, digest, payload, requirements, ...claim }: NewClaim) => {
      const texts = [route, fingerprint, digest, JSON.stringify(payload), JSON.stringify(requirements)] as const;
      const { idempotencyKey, validBefore, holder = null, identifier = null } = claim;
      const values = [...listOwnKeyValues(key), ...texts, idempotencyKey, validBefore, clock(), holder, identifier];
      return (await store.changeUnsynced(sql.claim, values)) === 1;
    },
    /**
     * Makes this process the owner of a claim that no live process owns; returns undefined if one does, or if nothing is left to deliver.
     */
    acquire: async (key: ClaimKey): Promise<PaymentClaim | undefined> =>
      (await store.rows(sql.acquire, [...listOwnKeyValues(key), owner.graceMs()])).map(parseClaim)[0],
    disown: async (key: ClaimKey) => void (await store.change(sql.disown, listOwnKeyValues(key))),
    /** working → settling, with the upstream's response and the amount to settle. */
    settling: (key: ClaimKey, { status, headers, body }: SoldResponse, amount: string, by?: WriteOptions) =>
      move("settling", sql.settling, key, [status, JSON.stringify(headers), body, clock(), amount], by),
    /** settling → settling, with the pending transaction. */
    pending: (key: ClaimKey, settlement: SettleResponse) =>
      move("pending", sql.pending, key, [JSON.stringify(settlement), clock()]),
    settled: (key: ClaimKey, settlement: SettleResponse, by?: WriteOptions) =>
      move("settled", sql.settled, key, [JSON.stringify(settlement), clock()], by),
    /** settled, delivered → delivered; deletes the signature and the owner. */
    delivered: (key: ClaimKey) => move("delivered", sql.delivered, key, [clock()], { isUnsynced: true }),
    /** working, settling → (none): nothing was charged. */
    release: (key: ClaimKey) => move("released", sql.release, key, []),
    owned: async (countMax: number) =>
      (await store.rows(sql.owned, [owner.id, countMax])).map((row) => ({
        key: parseClaimKey(row),
        isWorking: row["state"] === "working",
      })),
    /** Releases the claims that exited processes were working on, and clears the owner of their remaining claims; returns the number released. */
    releaseAbandoned: async () => {
      const releasedCount = await store.change(sql.releaseAbandonedWork, [owner.graceMs()]);
      await store.change(sql.disownAbandoned, [owner.graceMs()]);
      return releasedCount;
    },
    /** Returns claims with an unknown settlement outcome that no other process owns, least recently updated first. */
    unsettled: async (countMax: number) =>
      (await store.rows(sql.unsettled, [countMax, owner.graceMs()])).map(readFoundClaim),
    /** Counts the claims by state, up to {@link countedMax} of each. */
    count: async (): Promise<Readonly<Record<string, number>>> => {
      const counts = (await store.rows(sql.count)).map((row) => [String(row["state"]), Number(row["claims"])] as const);
      return Object.fromEntries(counts.filter(([, claims]) => claims > 0));
    },
    ...createTrimming(limits, sql, { store, clock: retentionClock }),
  };
}

/**
 * Beyond the common part, deletes delivered responses, then unfetched ones of expired payments; never the response of a charged payment
 * that is still valid.
 */
function createTrimming(
  { responseBytes: bytesMax }: Readonly<{ responseBytes: number }>,
  sql: ReturnType<typeof buildClaimSql>,
  { store, clock }: LedgerDependencies,
) {
  const commonBytes = bytesMax * commonPart;
  let bytes = 0;
  let largeResponses: ReadonlySet<string> = new Set();
  const responseBytes = async () => Number((await store.rows(sql.responseBytes))[0]?.["bytes"] ?? 0);
  const payersAbove = async (each: number): Promise<ReadonlySet<string>> =>
    new Set((await store.rows(sql.payersAbove, [each])).map((row) => String(row["payer"])));
  const forgetResponses = (which: "expired" | "delivered" | "untaken", countMax = deletedMax) => {
    const nowSeconds = which === "delivered" ? Number.MAX_SAFE_INTEGER : Math.floor(clock() / 1_000);
    const beforeMs = which === "expired" ? clock() - redeliveryMs : Number.MAX_SAFE_INTEGER;
    const state = which === "untaken" ? "settled" : "delivered";
    return store.change(sql.forgetResponses, [state, nowSeconds, countMax, beforeMs]);
  };
  const forget = (beforeMs: number) => store.change(sql.forget, [beforeMs, Math.floor(clock() / 1_000), deletedMax]);
  return {
    responseBytes,
    payersAbove,
    /**
     * Deletes responses that no process is delivering: those of payments that have expired and were delivered {@link redeliveryMs} ago, or
     * the oldest of a state.
     */
    forgetResponses,
    /**
     * Deletes at most {@link deletedMax} claims of expired payments that ended, or have been waiting for their client, since before a time
     * (Unix ms).
     */
    forget,
    /** Deletes responses that can no longer be requested, the oldest responses if they exceed the limit, and claims older than the retention. */
    async trim(retentionMs: number): Promise<void> {
      await deleteInRounds(() => forgetResponses("expired"));
      bytes = await responseBytes();
      for (const which of ["delivered", "untaken"] as const)
        while (bytes > commonBytes && (await forgetResponses(which)) > 0) bytes = await responseBytes();
      largeResponses = bytes > commonBytes ? await payersAbove(bytesMax * payerPart) : new Set();
      const beforeMs = clock() - retentionMs;
      await deleteInRounds(() => forget(beforeMs));
    },
    /** Returns whether another response for this payer may be retained, as of the last trim; if not, the payer can't buy anything new. */
    hasRoom: (payer: string) => bytes <= commonBytes || (bytes <= bytesMax && !largeResponses.has(payer)),
  };
}

/** Deletes in short statements until one finds fewer than its max; the rest is left for the next call. */
async function deleteInRounds(run: () => Promise<number>): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) if ((await run()) < deletedMax) return;
}

function listKeyValues({ network, asset, payer, nonce }: ClaimKey) {
  return [network, asset, payer, nonce] as const;
}

/**
 * Builds the ledger's statements, for both SQLite and PostgreSQL. In statements about one claim, `$1` to `$4` are the key (network, asset,
 * payer, nonce), and `$5` is the writing process, which changes only claims that it owns.
 */
function buildClaimSql(nowMs: string) {
  const byKey = "network = $1 AND asset = $2 AND payer = $3 AND nonce = $4";
  const ownRow = `${byKey} AND owner = $5`;
  // The parameter is how long an owner counts as alive after its expiry; see `ClaimOwner.graceMs`.
  const selectLivingOwners = (graceMs: string) =>
    `SELECT id FROM claim_owner WHERE expires_at_ms > ${nowMs} - ${graceMs}`;
  const free = (graceMs: string) => `(owner IS NULL OR owner NOT IN (${selectLivingOwners(graceMs)}))`;
  return {
    find: `SELECT ${foundClaimColumns} FROM claims WHERE ${byKey}`,
    findIdentified: "SELECT network, asset, payer, nonce FROM claims WHERE payer = $1 AND identifier = $2",
    claim: `INSERT INTO claims (network, asset, payer, nonce, owner, state, route, fingerprint, digest, payload, requirements,
        idempotency_key, valid_before, updated_at_ms, holder, identifier)
      VALUES ($1, $2, $3, $4, $5, 'working', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
      ON CONFLICT DO NOTHING`,
    acquire: `UPDATE claims SET owner = $5
      WHERE ${byKey} AND (state <> 'delivered' OR status IS NOT NULL) AND (owner = $5 OR ${free("$6")}) RETURNING *`,
    disown: `UPDATE claims SET owner = NULL WHERE ${ownRow}`,
    settling: `UPDATE claims SET state = 'settling', status = $6, headers = $7, body = $8, updated_at_ms = $9, amount = $10
      WHERE ${ownRow} AND state = 'working'`,
    pending: `UPDATE claims SET settlement = $6, updated_at_ms = $7 WHERE ${ownRow} AND state = 'settling'`,
    settled: `UPDATE claims SET state = 'settled', settlement = $6, updated_at_ms = $7 WHERE ${ownRow} AND state = 'settling'`,
    delivered: `UPDATE claims SET state = 'delivered', payload = NULL, owner = NULL, updated_at_ms = $6
      WHERE ${ownRow} AND state IN ('settled', 'delivered')`,
    forgetResponses: `UPDATE claims SET state = 'delivered', payload = NULL, status = NULL, headers = NULL, body = NULL
      WHERE (network, asset, payer, nonce) IN (SELECT network, asset, payer, nonce FROM claims
        WHERE status IS NOT NULL AND state = $1 AND owner IS NULL AND valid_before < $2 AND updated_at_ms < $4
          ORDER BY valid_before, updated_at_ms LIMIT $3)
        AND status IS NOT NULL AND owner IS NULL`,
    responseBytes: "SELECT sum(length(body)) AS bytes FROM claims WHERE status IS NOT NULL",
    payersAbove: "SELECT payer FROM claims WHERE status IS NOT NULL GROUP BY payer HAVING sum(length(body)) > $1",
    release: `DELETE FROM claims WHERE ${ownRow} AND state IN ('working', 'settling')`,
    owned: "SELECT network, asset, payer, nonce, state FROM claims WHERE owner = $1 LIMIT $2",
    releaseAbandonedWork: `DELETE FROM claims WHERE state = 'working' AND ${free("$1")}`,
    disownAbandoned: `UPDATE claims SET owner = NULL WHERE owner IS NOT NULL AND ${free("$1")}`,
    unsettled: `SELECT ${foundClaimColumns} FROM claims WHERE state = 'settling' AND ${free("$2")} ORDER BY updated_at_ms LIMIT $1`,
    count: ["working", "settling", "settled", "delivered"]
      .map(
        (state) =>
          `SELECT '${state}' AS state, count(*) AS claims FROM (SELECT 1 FROM claims WHERE state = '${state}' LIMIT ${countedMax}) AS counted`,
      )
      .join(" UNION ALL "),
    forget: `DELETE FROM claims
      WHERE (network, asset, payer, nonce) IN (SELECT network, asset, payer, nonce FROM claims
        WHERE state IN ('settled', 'delivered') AND owner IS NULL AND updated_at_ms < $1 AND valid_before < $2 LIMIT $3)
        AND owner IS NULL`,
  };
}
