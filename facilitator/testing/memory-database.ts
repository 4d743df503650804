import type { Hex } from "#x402/hex.ts";
import * as rows from "./memory-tables.ts";

/** The lease of the right to settle, with its holder, term and expiry. */
export type LeaseRow = { holder: object; term: number; expiresAtMs: number };

/**
 * A fault that a test puts into the database, to see that it is found:
 * - `no guard`: a leader's writes are accepted whoever settles by then.
 * - `no lock`: another term may begin between a write's guard and the write.
 * - `no expiry`: a lease is given to whoever requests it.
 * - `requests get lost`: who settles does not find a request that is older than a second.
 */
export type Sabotage = "no guard" | "no lock" | "no expiry" | "requests get lost";

/** A database in memory that replicas share. It goes by a clock that the test has. */
export type MemoryDatabase = Readonly<{
  tables: rows.Tables;
  nowMs: () => number;
  readers: Set<object>;
  sabotage: Sabotage | undefined;
}> & {
  lease: LeaseRow | undefined;
  /** Called with each term that begins and its replica, and with each write of a leader at the moment at which it is committed. */
  onTerm: (term: number, replica: string) => void;
  onLeaderWrite: (term: number, kind: string, ids: readonly Hex[]) => void;
};

/** One replica's connection to the database. Each of its legs may take time, and fail with `StoreError`. */
export type Link = Readonly<{
  /** Name of the replica that has it. */
  replica: string;
  /** A statement goes to the database. It may still arrive when its sender has given up or is gone. */
  send: (what: string) => Promise<void>;
  /** Within a transaction: the replica has an answer, and goes on. Fails, too, when it gave up or is gone. */
  goOn: () => Promise<void>;
  /** The last answer comes back. */
  receive: (what: string) => Promise<void>;
  /** Waits for a piece of work as long as the replica does. */
  within: <T>(work: Promise<T>) => Promise<T>;
}>;

/** Term whose writes these are. The guard throws when they may not be made now. */
export type Writer = Readonly<{ term: number; guard: () => Promise<void> }>;

/** Creates an empty database. */
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

/** Runs one statement. */
export function runStatement<T>(link: Link, what: string, work: () => T): Promise<T> {
  const run = async () => {
    await link.send(what);
    const result = work();
    await link.receive(what);
    return result;
  };
  return link.within(run());
}

/** A guarded transaction, and the term that it writes in. */
type GuardedWrite = Readonly<{ kind: string; ids: readonly Hex[]; writer: Writer }>;

/** Runs a write in a transaction that begins with its guard. */
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
