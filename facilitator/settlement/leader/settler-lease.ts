import { randomUUID } from "node:crypto";
import type { SqlConnection, SqlStore } from "#daemon/sql/store.ts";
import type { Pause } from "#daemon/time.ts";

/** This replica no longer settles; the pending write is not executed. */
export class TermEndedError extends Error {
  override readonly name = "TermEndedError";
  readonly code = "term_ended";

  constructor() {
    super("another replica settles now");
  }
}

/**
 * Exclusive right of one replica to settle on a chain, for a term. It lasts as long as it is renewed, by the database's clock. Each term
 * has a higher number than the previous one, and every write of the settling replica locks the lease and compares that number: a replica
 * that was cut off and returns can write nothing once another has started its term.
 */
export type SettlerLease = Readonly<{
  /** Starts a term if there is no current one, and returns its number. */
  acquire: () => Promise<number | undefined>;
  /** Returns false when the term is over. */
  renew: (term: number) => Promise<boolean>;
  /** Ends the term, so that another replica need not wait for its expiry. */
  release: (term: number) => Promise<void>;
}>;

/** Prevents a term's writes after its end. */
type TermGuard = Readonly<{
  /** @throws {TermEndedError} from the check, when the term is over. */
  guard: (term: number) => (connection: SqlConnection) => Promise<void>;
}>;

/** Lifetime of a term after its last renewal, by the database's clock. */
export const termLifeMs = 4_000;

/**
 * Time for which a replica trusts a renewal, by its own clock, from before the request. It is shorter than the term's lifetime, so that a
 * leader that can't renew has ended its term when another one starts. This assumes a running process whose clock is at most an eighth
 * slower than the database's. The guard covers a suspended process.
 */
export const leaseTrustMs = 3_500;

/** Creates this process's lease of one chain. */
export function createSettlerLease(
  { chainId }: Readonly<{ chainId: number }>,
  { store }: Readonly<{ store: SqlStore }>,
): SettlerLease & TermGuard {
  const holder = randomUUID();
  const acquireSql = `INSERT INTO settler (chain_id, holder, term, expires_at_ms) VALUES ($1, $2, 1, ${store.nowMs} + $3)
    ON CONFLICT (chain_id) DO UPDATE
      SET holder = excluded.holder, term = settler.term + 1, expires_at_ms = excluded.expires_at_ms
      WHERE settler.expires_at_ms < ${store.nowMs} OR settler.holder = excluded.holder
    RETURNING term`;
  const renewSql = `UPDATE settler SET expires_at_ms = ${store.nowMs} + $3 WHERE chain_id = $1 AND term = $2`;
  return {
    acquire: async () => {
      const [row] = await store.rows(acquireSql, [chainId, holder, termLifeMs]);
      return row === undefined ? undefined : Number(row["term"]);
    },
    renew: async (term) => (await store.change(renewSql, [chainId, term, termLifeMs])) === 1,
    release: async (term) => {
      await store.change("UPDATE settler SET expires_at_ms = 0 WHERE chain_id = $1 AND term = $2", [chainId, term]);
    },
    guard: (term) => async (connection) => {
      const text = `SELECT term FROM settler WHERE chain_id = $1 AND term = $2${store.lockRows}`;
      if ((await connection.rows(text, [chainId, term])).length === 0) throw new TermEndedError();
    },
  };
}

/** Database query that starts or renews a term. */
export type LeaseClaim = Readonly<{
  /** The database agreed: the lease is valid from the time of the query. */
  confirm: () => void;
  /** The database declined, or its response is unknown: the earlier deadline stays valid. */
  drop: () => void;
}>;

/** Deadline until which a replica may trust its lease. It counts from before each query, because the time at which the database executed it is unknown. */
export type LeaseDeadline = Disposable & Readonly<{ claim: () => LeaseClaim }>;

/** Creates an inactive deadline. `onPassed` is called when a lease is not renewed in time. */
export function createLeaseDeadline(
  { trustMs }: Readonly<{ trustMs: number }>,
  { pause, onPassed }: Readonly<{ pause: Pause; onPassed: () => void }>,
): LeaseDeadline {
  let confirmed: AbortController | undefined;
  return {
    claim: () => {
      const counting = new AbortController();
      let isPassed = false;
      const count = async (): Promise<void> => {
        await pause(trustMs, counting.signal);
        if (counting.signal.aborted) return;
        isPassed = true;
        if (confirmed === counting) onPassed();
      };
      void count();
      return {
        confirm: () => {
          confirmed?.abort();
          confirmed = counting;
          if (isPassed) onPassed();
        },
        drop: () => counting.abort(),
      };
    },
    [Symbol.dispose]: () => confirmed?.abort(),
  };
}
