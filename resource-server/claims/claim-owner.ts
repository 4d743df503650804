import { randomUUID } from "node:crypto";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { pauseInBackground } from "#daemon/time.ts";

/**
 * This process as an owner of claims. What it owns nobody else touches while it lives; it lives while its row in `claim_owner` has
 * not expired, by the database's clock. A process that was cut off longer than that finds its claims gone: each move of a claim is
 * conditional on its owner, so it can't act on what another has taken over.
 */
export type ClaimOwner = AsyncDisposable &
  Readonly<{
    id: string;
    /** Time after its row's expiry for which another owner is taken to be alive, in milliseconds. */
    graceMs: () => number;
    readiness: () => ReadinessCheck;
  }>;

const renewIntervalMs = 1_000;
const lifeMs = 6_000;
/** More than any outage: spares everybody. */
const graceAllMs = 1e14;
/** Age at which the rows of processes that are gone are of no use to anyone. */
const forgottenAfterMs = 86_400_000;

/** Expiry of an only owner's row: never. */
const neverMs = Number.MAX_SAFE_INTEGER;

/** Becomes the only owner of a store that no other process can open: whoever had claims before is gone. */
export async function createSoleClaimOwner({ store }: Readonly<{ store: SqlStore }>): Promise<ClaimOwner> {
  const id = randomUUID();
  await store.transaction(async (connection) => {
    await connection.change("DELETE FROM claim_owner");
    await connection.change("INSERT INTO claim_owner (id, expires_at_ms) VALUES ($1, $2)", [id, neverMs]);
  });
  return {
    id,
    graceMs: () => 0,
    readiness: () => ({ ok: true, message: "in this process" }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/**
 * Becomes one of the owners that share a database, and stays one by renewing its row. After an outage of the database every row
 * has expired; so whoever could not renew its own for a while spares the others until all had time to.
 */
export async function joinClaimOwners({ store, log }: Readonly<{ store: SqlStore; log: Logger }>): Promise<ClaimOwner> {
  const id = randomUUID();
  const stop = new AbortController();
  let state: ReadinessCheck = { ok: true, message: "answers" };
  let renewedAt = performance.now();
  let steadySince = renewedAt;

  const renew = async (): Promise<void> => {
    const startedMs = performance.now();
    await store.change(
      `INSERT INTO claim_owner (id, expires_at_ms) VALUES ($1, ${store.nowMs} + $2)
       ON CONFLICT (id) DO UPDATE SET expires_at_ms = excluded.expires_at_ms`,
      [id, lifeMs],
    );
    if (startedMs - renewedAt > lifeMs) steadySince = performance.now();
    renewedAt = startedMs;
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await pauseInBackground(renewIntervalMs, stop.signal);
      if (stop.signal.aborted) return;
      try {
        await renew();
        if (!state.ok) log.info({ event: "ledger-answers" }, "the ledger answers again");
        state = { ok: true, message: "answers" };
      } catch (error) {
        if (state.ok)
          log.warn({ event: "ledger-lost", err: error }, "the ledger does not answer; payments are answered 503");
        state = { ok: false, message: error instanceof Error ? error.message : String(error) };
      }
    }
  };

  // The store could not be opened if an only owner lived.
  const gone = `expires_at_ms < ${store.nowMs} - $1 OR expires_at_ms = $2`;
  await store.change(`DELETE FROM claim_owner WHERE ${gone}`, [forgottenAfterMs, neverMs]);
  await renew();
  const running = run();
  return {
    id,
    graceMs: () => (performance.now() - steadySince > lifeMs ? 0 : graceAllMs),
    readiness: () => state,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      try {
        await store.change("DELETE FROM claim_owner WHERE id = $1", [id]);
      } catch (error) {
        log.warn(
          { event: "replicas-not-told", err: error },
          "can't notify the other replicas of this end; they notice in a few seconds",
        );
      }
    },
  };
}
