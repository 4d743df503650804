import type { Hex } from "#x402/hex.ts";
import type { Ledger } from "../settlement/ledger/ledger.ts";
import { TermEndedError, termLifeMs, type SettlerLease } from "../settlement/leader/settler-lease.ts";
import type { LeaderRequests, RecordedState, Requests } from "../settlement/leader/requests.ts";
import type { SharedLedger } from "../settlement/leader/shared-ledger.ts";
import type { Ownership } from "../settlement/ownership.ts";
import * as rows from "./memory-tables.ts";

/** Who has the right to settle, and who reads that now in a transaction, so that nobody can change it. */
type LeaseRow = { holder: object; term: number; expiresAtMs: number };

/** A database in memory that replicas share. It goes by a clock that the test has. */
export type MemoryDatabase = Readonly<{ tables: rows.Tables; nowMs: () => number; readers: Set<object> }> & {
  lease: LeaseRow | undefined;
  /** Told of each term that begins, and of each write of a leader at the moment at which it is committed. */
  onTerm: (term: number) => void;
  onLeaderWrite: (term: number, kind: string, ids: readonly Hex[]) => void;
};

/** One replica's way to the database: a statement goes there, and its answer comes back. Either may take time, fail, or never arrive. */
export type Link = Readonly<{ travel: (what: string) => Promise<void> }>;

/** Whose writes these are. The guard throws when they may not be made now. */
type Writer = Readonly<{ term: number; guard: () => Promise<void> }>;

/** Creates an empty database. */
export function createMemoryDatabase(nowMs: () => number): MemoryDatabase {
  return {
    tables: rows.createTables(),
    nowMs,
    readers: new Set(),
    lease: undefined,
    onTerm: () => undefined,
    onLeaderWrite: () => undefined,
  };
}

/** Opens a database for one replica. A transaction locks the lease from its guard to its end, as the SQL does (FOR SHARE). */
export function openMemoryLedger(database: MemoryDatabase, link: Link): SharedLedger {
  const leader = (term: number): Writer => ({
    term,
    guard: async () => {
      if (database.lease?.term !== term) throw new TermEndedError();
    },
  });
  return {
    requests: createRequests(database, link),
    ownership: createOwnership(database, link),
    lease: createLease(database, link),
    inTerm: (term) => ({
      ledger: createMemoryLedger(database, link, leader(term)),
      requests: createLeaderRequests(database, link, leader(term)),
    }),
  };
}

async function statement<T>({ travel }: Link, what: string, work: () => T): Promise<T> {
  await travel(what);
  const result = work();
  await travel(`the answer to ${what}`);
  return result;
}

/** What a transaction that is guarded does, and for whom. */
type GuardedWrite = Readonly<{ kind: string; ids: readonly Hex[]; writer: Writer }>;

async function guarded(
  database: MemoryDatabase,
  { travel }: Link,
  { kind, ids, writer }: GuardedWrite,
  work: () => void,
): Promise<void> {
  await travel(`${kind}, its guard`);
  const reader = {};
  database.readers.add(reader);
  try {
    await writer.guard();
    await travel(kind);
    rows.atomically(database.tables, work);
    database.onLeaderWrite(writer.term, kind, ids);
  } finally {
    database.readers.delete(reader);
  }
  await travel(`the answer to ${kind}`);
}

/** Creates the journal over a database in memory. */
export function createMemoryLedger(database: MemoryDatabase, link: Link, writer: Writer): Ledger {
  const { tables, nowMs } = database;
  const write = (kind: string, ids: readonly Hex[], work: () => void) =>
    guarded(database, link, { kind, ids, writer }, work);
  return {
    progress: (id) =>
      statement(link, "progress", () => {
        const row = tables.settlements.get(id);
        return row && { ...(row.outcome ?? { state: "begun" as const }), owner: row.settlement.owner };
      }),
    hasRival: (settlement) => statement(link, "hasRival", () => rows.hasRival(tables.settlements, settlement)),
    begin: async (begun) => {
      if (begun.length === 0) return;
      const ids = begun.map(({ settlement }) => settlement.id);
      await write("begin", ids, () => {
        for (const { settlement, attempt } of begun) {
          const isThere = tables.settlements.has(settlement.id);
          if (!isThere && !rows.insertSettlement(tables, settlement, nowMs())) {
            throw new rows.UniqueError("settlement_authorization");
          }
          rows.insertAttempt(tables, settlement.id, attempt);
        }
      });
    },
    finish: async (outcomes) => {
      if (outcomes.size === 0) return;
      await write("finish", [...outcomes.keys()], () => {
        for (const [id, outcome] of outcomes) {
          rows.update(tables, id, (row) => ({ ...row, outcome, finishedAtMs: nowMs() }));
        }
      });
    },
    withdraw: ({ hash }) =>
      write("withdraw", [], () => {
        const row = tables.attempts.get(hash);
        tables.attempts.delete(hash);
        if (row !== undefined) rows.deleteChildless(tables, row.settlementId);
      }),
    unfinished: () => statement(link, "unfinished", () => rows.begun(tables)),
    prune: (beforeMs) => statement(link, "prune", () => prune(tables, beforeMs)),
  };
}

function prune({ settlements, attempts, verifications }: rows.Tables, beforeMs: number): number {
  for (const [key, { atMs }] of verifications) if (atMs < beforeMs) verifications.delete(key);
  const old = [...settlements.values()].filter(
    ({ finishedAtMs }) => finishedAtMs !== undefined && finishedAtMs < beforeMs,
  );
  for (const { settlement } of old) {
    settlements.delete(settlement.id);
    for (const [hash, { settlementId }] of attempts) if (settlementId === settlement.id) attempts.delete(hash);
  }
  return old.length;
}

function createRequests({ tables, nowMs }: MemoryDatabase, link: Link): Requests {
  const stateOf = (id: Hex): readonly (readonly [Hex, RecordedState])[] => {
    const row = tables.settlements.get(id);
    if (row === undefined) return [];
    const begun = { state: "begun", transaction: rows.attemptsOf(tables, id).at(-1)?.hash } as const;
    return [[id, { ...(row.outcome ?? begun), owner: row.settlement.owner }]];
  };
  return {
    ask: async (settlement) => {
      if (await statement(link, "ask", () => rows.insertSettlement(tables, settlement, nowMs()))) return true;
      return statement(link, "ask, whose is it", () => tables.settlements.has(settlement.id));
    },
    states: (ids) => statement(link, "states", () => new Map(ids.flatMap(stateOf))),
    unsentReason: (id) => statement(link, "unsentReason", () => tables.unsent.get(id)),
  };
}

function createLeaderRequests(database: MemoryDatabase, link: Link, writer: Writer): LeaderRequests {
  const { tables } = database;
  return {
    waiting: (countMax) =>
      statement(link, "waiting", () =>
        rows
          .begun(tables)
          .filter(({ attempts }) => attempts.length === 0)
          .slice(0, countMax)
          .map(({ settlement }) => settlement),
      ),
    decline: (id, message) =>
      guarded(database, link, { kind: "decline", ids: [id], writer }, () => {
        rows.deleteChildless(tables, id);
        tables.unsent.set(id, message);
      }),
  };
}

function createLease(database: MemoryDatabase, { travel }: Link): SettlerLease {
  const holder = {};
  /** Changes the lease once no transaction reads it. */
  const change = async <T>(what: string, work: (lease: LeaseRow | undefined) => T): Promise<T> => {
    await travel(what);
    while (database.readers.size > 0) await travel(`${what}, once the lease is free`);
    const result = work(database.lease);
    await travel(`the answer to ${what}`);
    return result;
  };
  const expiresAtMs = () => database.nowMs() + termLifeMs;
  return {
    acquire: () =>
      change("acquire", (lease) => {
        const isFree = lease === undefined || lease.expiresAtMs < database.nowMs() || lease.holder === holder;
        if (!isFree) return undefined;
        const term = (lease?.term ?? 0) + 1;
        database.lease = { holder, term, expiresAtMs: expiresAtMs() };
        database.onTerm(term);
        return term;
      }),
    renew: (term) =>
      change("renew", (lease) => {
        if (lease?.term !== term) return false;
        lease.expiresAtMs = expiresAtMs();
        return true;
      }),
    release: (term) =>
      change("release", (lease) => {
        if (lease?.term === term) lease.expiresAtMs = 0;
      }),
  };
}

function createOwnership({ tables, nowMs }: MemoryDatabase, link: Link): Ownership {
  const setOwner = (id: Hex, isFor: (owner: string | undefined) => boolean, owner: string | undefined) =>
    rows.update(tables, id, (row) =>
      isFor(row.settlement.owner) ? { ...row, settlement: { ...row.settlement, owner } } : undefined,
    );
  const seller = (id: Hex, owner: string) => `${id} ${owner}`;
  return {
    take: (id, owner) =>
      statement(link, "take", () => setOwner(id, (before) => before === undefined || before === owner, owner)),
    release: async (id, owner) => {
      await statement(link, "release", () => setOwner(id, (before) => before === owner, undefined));
    },
    close: (id, owner) => statement(link, "close", () => setOwner(id, (before) => before === owner, "closed")),
    noteVerified: (id, owner) =>
      statement(link, "noteVerified", () => {
        const times = (tables.verifications.get(seller(id, owner))?.times ?? 0) + 1;
        tables.verifications.set(seller(id, owner), { times, atMs: nowMs() });
      }),
    verifiedOnce: (id, owner) =>
      statement(link, "verifiedOnce", () => (tables.verifications.get(seller(id, owner))?.times ?? 0) <= 1),
  };
}
