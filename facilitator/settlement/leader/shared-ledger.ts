import type { SqlStore } from "#daemon/sql/store.ts";
import { createLedger, type Ledger } from "../ledger/ledger.ts";
import { createOwnership, type Ownership } from "../ownership.ts";
import { createRequests, type LeaderRequests, type Requests } from "./requests.ts";
import { createSettlerLease, type SettlerLease } from "./settler-lease.ts";

/** Ledger and requests of the leader of one term; every write throws `TermEndedError` once the term is over. */
export type TermLedger = Readonly<{ ledger: Ledger; requests: LeaderRequests }>;

/** A ledger that replicas share, as one of them sees it. Any method throws `StoreError` when the database can't be used now. */
export type SharedLedger = Readonly<{
  requests: Requests;
  ownership: Ownership;
  /** This replica's right to settle. */
  lease: SettlerLease;
  inTerm: (term: number) => TermLedger;
}>;

/** Opens the ledger of one chain for this replica, over a store that has its tables. */
export function createSharedLedger(
  options: Readonly<{ chainId: number }>,
  dependencies: Readonly<{ store: SqlStore; clock: () => number }>,
): SharedLedger {
  const { guard, ...lease } = createSettlerLease(options, dependencies);
  return {
    requests: createRequests(options, { ...dependencies, guard: async () => undefined }),
    ownership: createOwnership(options, dependencies),
    lease,
    inTerm: (term) => {
      const guarded = { ...dependencies, guard: guard(term) };
      return { ledger: createLedger(options, guarded), requests: createRequests(options, guarded) };
    },
  };
}
