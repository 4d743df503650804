import { randomUUID } from "node:crypto";
import type { Logger } from "#daemon/log/log.ts";
import { trackStore, type StoreState } from "#daemon/sql/store-watch.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { pauseInBackground, repeat } from "#daemon/time.ts";

/**
 * This process as an owner of claims. No other process changes its claims until its row in `claim_owner` has expired by the database's
 * clock. A process that is disconnected for longer loses its claims: each transition of a claim requires its owner.
 */
export type ClaimOwner = AsyncDisposable &
  Readonly<{
    id: string;
    /** Time for which another owner counts as alive after its row expires, in milliseconds. */
    graceMs: () => number;
  }>;

const renewIntervalMs = 1_000;
const lifeMs = 6_000;
/** Longer than any outage, so that all owners count as alive. */
const graceAllMs = 1e14;
const forgottenAfterMs = 86_400_000;

const neverMs = Number.MAX_SAFE_INTEGER;

/** Registers as the sole owner of a store that no other process can open: all earlier owners have exited. */
export async function createSoleClaimOwner({ store }: Readonly<{ store: SqlStore }>): Promise<ClaimOwner> {
  const id = randomUUID();
  await store.transaction(async (connection) => {
    await connection.change("DELETE FROM claim_owner");
    await connection.change("INSERT INTO claim_owner (id, expires_at_ms) VALUES ($1, $2)", [id, neverMs]);
  });
  return {
    id,
    graceMs: () => 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/**
 * Registers as one of the owners that share a database, and renews its row. After a database outage, every row has expired, so an owner
 * that could not renew its own row treats the others as alive until they have had time to renew theirs.
 */
export async function joinClaimOwners({
  store,
  log,
}: Readonly<{ store: SqlStore; log: Logger }>): Promise<ClaimOwner & Pick<StoreState, "readiness">> {
  const id = randomUUID();
  const { readiness, responded: recordResponse, failed: reportFailure } = trackStore({ log });
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
    recordResponse();
  };

  // No sole owner is alive; otherwise the store could not have been opened.
  const expiredOwner = `expires_at_ms < ${store.nowMs} - $1 OR expires_at_ms = $2`;
  await store.change(`DELETE FROM claim_owner WHERE ${expiredOwner}`, [forgottenAfterMs, neverMs]);
  await renew();
  const options = { intervalMs: renewIntervalMs, failed: reportFailure, waitsFirst: true };
  const renewal = repeat(renew, options, { pause: pauseInBackground });
  return {
    id,
    graceMs: () => (performance.now() - steadySince > lifeMs ? 0 : graceAllMs),
    readiness,
    async [Symbol.asyncDispose]() {
      await renewal[Symbol.asyncDispose]();
      try {
        await store.change("DELETE FROM claim_owner WHERE id = $1", [id]);
      } catch (error) {
        log.warn(
          { event: "replicas-not-notified", err: error },
          "can't notify the other replicas of this result; they will notice within seconds",
        );
      }
    },
  };
}
