import type { SqlStore } from "#daemon/sql/store.ts";
import { createLedger, type Ledger } from "../ledger/ledger.ts";
import { createOwnership, type Ownership } from "../ownership.ts";
import { createRequests, type LeaderRequests, type Requests } from "./requests.ts";
import { createSettlerLease, type SettlerLease } from "./settler-lease.ts";

/** Ledger and requests of one term's leader; every write throws `TermEndedError` once the term is over. */
export type TermLedger = Readonly<{ ledger: Ledger; requests: LeaderRequests }>;

/** One replica's view of a shared ledger. Any method throws `StoreError` when the database is unavailable. */
export type SharedLedger = Readonly<{
  requests: Requests;
  ownership: Ownership;
  /** This replica's right to settle. */
  lease: SettlerLease;
  inTerm: (term: number) => TermLedger;
}>;

/** Creates this replica's ledger of one chain on a store that has its tables. */
export function createSharedLedger(
  options: Readonly<{ chainId: number }>,
  dependencies: Readonly<{ store: SqlStore; clock: () => number }>,
): SharedLedger {
  const { guard, ...lease } = createSettlerLease(options, dependencies);
  return {
    requests: createRequests(options, dependencies),
    ownership: createOwnership(options, dependencies),
    lease,
    inTerm: (term) => {
      const guarded = { ...dependencies, guard: guard(term) };
      return { ledger: createLedger(options, guarded), requests: createRequests(options, guarded) };
    },
  };
}
