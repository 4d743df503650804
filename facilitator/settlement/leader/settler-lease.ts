import { randomUUID } from "node:crypto";
import type { SqlConnection, SqlStore } from "#daemon/sql/store.ts";
import type { Pause } from "#daemon/time.ts";

/** This replica is not the one that settles any more; what it was about to write is not written. */
export class TermEndedError extends Error {
  override readonly name = "TermEndedError";
  readonly code = "term_ended";

  constructor() {
    super("another replica settles now");
  }
}

/**
 * The right to settle on a chain, which one replica has at a time, for a term. It lasts as long as it is renewed, by the database's
 * clock. Each term has a higher number than the one before it, and every write of the one that settles locks the lease and compares
 * that number: a replica that was cut off and comes back can write nothing once another has begun its term.
 */
export type SettlerLease = Readonly<{
  /** Begins a term if nobody has one, and returns its number. */
  acquire: () => Promise<number | undefined>;
  /** False when the term is over. */
  renew: (term: number) => Promise<boolean>;
  /** Ends the term, so that another replica need not wait for its time to pass. */
  release: (term: number) => Promise<void>;
}>;

/** Keeps the writes of a term from being made after it. */
type TermGuard = Readonly<{
  /** @throws {TermEndedError} from the check, when the term is over. */
  guard: (term: number) => (connection: SqlConnection) => Promise<void>;
}>;

/** Time that a term outlives its last renewal, by the database's clock. */
export const termLifeMs = 4_000;

/**
 * Time for which a replica trusts a renewal, by its own clock, from before it requested it: less than the term's life,
 * so that a leader that can't renew has ended its term when another one begins. Holds for a process that runs, and
 * whose clock is not slower than the database's by an eighth. For one that was stopped there is the guard.
 */
export const leaseTrustMs = 3_500;

/** Creates the lease of one chain for this process. */
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

/** One question to the database that begins or renews a term. */
export type LeaseClaim = Readonly<{
  /** The database agreed: the lease may be trusted from the moment at which it was queried. */
  confirm: () => void;
  /** It did not, or nobody knows: what was trusted before is still. */
  drop: () => void;
}>;

/** Deadline until which a replica may trust its lease. It counts from before each question, since nobody knows when the database answered it. */
export type LeaseDeadline = Disposable & Readonly<{ claim: () => LeaseClaim }>;

/** Creates a deadline that has not begun. `onPassed` is called when a lease was not renewed in time. */
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
