import type { Hex } from "#x402/hex.ts";
import * as rows from "./memory-tables.ts";

/** Lease for settling, with its holder, term and expiry. */
export type LeaseRow = { holder: object; term: number; expiresAtMs: number };

/**
 * Fault that a test injects into the database, to check that it is detected:
 * - `no guard`: a leader's writes are accepted whichever replica settles by then.
 * - `no lock`: another term may start between a write's guard and the write.
 * - `no expiry`: a lease is granted to any requester.
 * - `requests get lost`: the settler does not find a request that is older than a second.
 */
export type Sabotage = "no guard" | "no lock" | "no expiry" | "requests get lost";

/** In-memory database shared by replicas. It uses the test's clock. */
export type MemoryDatabase = Readonly<{
  tables: rows.Tables;
  nowMs: () => number;
  readers: Set<object>;
  sabotage: Sabotage | undefined;
}> & {
  lease: LeaseRow | undefined;
  /** Called for each new term with its replica, and for each write of a leader at commit time. */
  onTerm: (term: number, replica: string) => void;
  onLeaderWrite: (term: number, kind: string, ids: readonly Hex[]) => void;
};

/** One replica's connection to the database. Each leg may take time, and fail with `StoreError`. */
export type Link = Readonly<{
  /** Name of the connected replica. */
  replica: string;
  /** Sends a statement to the database. It may still arrive after its sender gave up or exited. */
  send: (what: string) => Promise<void>;
  /** Continues a transaction after a response to the replica. Also fails if the replica gave up or exited. */
  goOn: () => Promise<void>;
  /** Receives the last response. */
  receive: (what: string) => Promise<void>;
  /** Waits for the work as long as the replica does. */
  within: <T>(work: Promise<T>) => Promise<T>;
}>;

/** Term of the writes. The guard throws when they are not allowed now. */
export type Writer = Readonly<{ term: number; guard: () => Promise<void> }>;

export function createMemoryDatabase(nowMs: () => number, sabotage?: Sabotage): MemoryDatabase {
  return {
    tables: rows.createTables(),
    nowMs,
    sabotage,
    readers: new Set(),
    lease: undefined,
    onTerm: () => undefined,
    onLeaderWrite: () => undefined,
  };
}

export function runStatement<T>(link: Link, what: string, work: () => T): Promise<T> {
  const run = async () => {
    await link.send(what);
    const result = work();
    await link.receive(what);
    return result;
  };
  return link.within(run());
}

/** Guarded transaction, and the term of its writes. */
type GuardedWrite = Readonly<{ kind: string; ids: readonly Hex[]; writer: Writer }>;

/** Runs a write in a transaction that starts with its guard. */
export function runGuarded(
  database: MemoryDatabase,
  link: Link,
  { kind, ids, writer }: GuardedWrite,
  work: () => void,
): Promise<void> {
  const run = async () => {
    await link.send(`${kind}, its guard`);
    const reader = {};
    if (database.sabotage !== "no lock") database.readers.add(reader);
    try {
      await writer.guard();
      await link.goOn();
      await link.send(kind);
      rows.runAtomically(database.tables, work);
      database.onLeaderWrite(writer.term, kind, ids);
    } finally {
      database.readers.delete(reader);
    }
    await link.receive(kind);
  };
  return link.within(run());
}
