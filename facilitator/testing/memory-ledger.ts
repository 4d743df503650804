import type { Hex } from "#x402/hex.ts";
import type { Ledger } from "../settlement/ledger/ledger.ts";
import { TermEndedError, termLifeMs, type SettlerLease } from "../settlement/leader/settler-lease.ts";
import type { Recorded } from "../settlement/settlement.ts";
import type { LeaderRequests, Requests } from "../settlement/leader/requests.ts";
import type { SharedLedger } from "../settlement/leader/shared-ledger.ts";
import { payerNotesMax, type Ownership } from "../settlement/ownership.ts";
import * as rows from "./memory-tables.ts";
import {
  runGuarded,
  runStatement,
  type LeaseRow,
  type Link,
  type MemoryDatabase,
  type Writer,
} from "./memory-database.ts";

/** Opens a database for one replica. A transaction locks the lease from its guard to its end, as in SQL (FOR SHARE). */
export function openMemoryLedger(database: MemoryDatabase, link: Link): SharedLedger {
  const buildWriter = (term: number): Writer => ({
    term,
    guard: async () => {
      if (database.lease?.term !== term && database.sabotage !== "no guard") throw new TermEndedError();
    },
  });
  return {
    requests: createRequests(database, link),
    ownership: createOwnership(database, link),
    lease: createLease(database, link),
    inTerm: (term) => ({
      ledger: createMemoryLedger(database, link, buildWriter(term)),
      requests: createLeaderRequests(database, link, buildWriter(term)),
    }),
  };
}

/** Creates the journal on an in-memory database. */
export function createMemoryLedger(database: MemoryDatabase, link: Link, writer: Writer): Ledger {
  const { tables, nowMs } = database;
  const write = (kind: string, ids: readonly Hex[], work: () => void) =>
    runGuarded(database, link, { kind, ids, writer }, work);
  return {
    progress: (id) =>
      runStatement(link, "progress", () => {
        const row = tables.settlements.get(id);
        return row && rows.toRecorded(row, undefined);
      }),
    hasConflict: (settlement) =>
      runStatement(link, "hasConflict", () => rows.hasConflict(tables.settlements, settlement)),
    begin: async (begun) => {
      if (begun.length === 0) return;
      const ids = begun.map(({ settlement }) => settlement.id);
      await write("begin", ids, () => {
        for (const { settlement, attempt } of begun) {
          const isThere = tables.settlements.has(settlement.id);
          if (!isThere && !rows.insertSettlement(tables, settlement)) {
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
          for (const [key, note] of tables.verifications)
            if (note.id === id && note.times === 1) tables.verifications.delete(key);
        }
      });
    },
    withdraw: ({ hash }) =>
      write("withdraw", [], () => {
        for (const [key, { settlementId, attempt }] of tables.attempts) {
          if (attempt.hash !== hash) continue;
          tables.attempts.delete(key);
          rows.deleteChildless(tables, settlementId);
        }
      }),
    unfinished: () => runStatement(link, "unfinished", () => rows.listStarted(tables)),
    prune: (beforeMs, max) => runStatement(link, "prune", () => forgetFinished(tables, beforeMs, max)),
  };
}

function forgetFinished({ settlements, attempts }: rows.Tables, beforeMs: number, max: number): number {
  const old = [...settlements.values()]
    .filter(({ finishedAtMs }) => finishedAtMs !== undefined && finishedAtMs < beforeMs)
    .slice(0, max);
  for (const { settlement } of old) {
    settlements.delete(settlement.id);
    for (const [key, { settlementId }] of attempts) if (settlementId === settlement.id) attempts.delete(key);
  }
  return old.length;
}

function createRequests({ tables }: MemoryDatabase, link: Link): Requests {
  const listStates = (id: Hex): readonly (readonly [Hex, Recorded])[] => {
    const row = tables.settlements.get(id);
    if (row === undefined) return [];
    return [[id, rows.toRecorded(row, rows.listAttempts(tables, id).at(-1)?.hash)]];
  };
  return {
    add: async (settlement) => {
      for (;;) {
        if (await runStatement(link, "add", () => rows.insertSettlement(tables, settlement))) return true;
        const [isThere, hasConflict] = await runStatement(link, "what is in the way", () => [
          tables.settlements.has(settlement.id),
          rows.hasConflict(tables.settlements, settlement),
        ]);
        if (isThere || hasConflict) return isThere;
      }
    },
    states: (ids) => runStatement(link, "states", () => new Map(ids.flatMap(listStates))),
    unsentReason: (id) => runStatement(link, "unsentReason", () => tables.unsent.get(id)),
  };
}

function createLeaderRequests(database: MemoryDatabase, link: Link, writer: Writer): LeaderRequests {
  const { tables, nowMs, sabotage } = database;
  const isLost = (id: Hex) =>
    sabotage === "requests get lost" && nowMs() - (tables.settlements.get(id)?.settlement.begunAtMs ?? 0) > 1_000;
  return {
    waiting: (countMax) =>
      runStatement(link, "waiting", () =>
        rows
          .listStarted(tables)
          .filter(({ settlement, attempts }) => attempts.length === 0 && !isLost(settlement.id))
          .slice(0, countMax)
          .map(({ settlement }) => settlement),
      ),
    decline: (id, message) =>
      runGuarded(database, link, { kind: "decline", ids: [id], writer }, () => {
        rows.deleteChildless(tables, id);
        tables.unsent.set(id, message);
      }),
  };
}

function createLease(database: MemoryDatabase, link: Link): SettlerLease {
  const holder = {};
  /** Updates the lease once no transaction is reading it. */
  const change = <T>(what: string, work: (lease: LeaseRow | undefined) => T): Promise<T> => {
    const run = async () => {
      await link.send(what);
      while (database.readers.size > 0) await link.send(what);
      const result = work(database.lease);
      await link.receive(what);
      return result;
    };
    return link.within(run());
  };
  const expiresAtMs = () => database.nowMs() + termLifeMs;
  return {
    acquire: () =>
      change("acquire", (lease) => {
        const isFree =
          database.sabotage === "no expiry" ||
          lease === undefined ||
          lease.expiresAtMs < database.nowMs() ||
          lease.holder === holder;
        if (!isFree) return undefined;
        const term = (lease?.term ?? 0) + 1;
        database.lease = { holder, term, expiresAtMs: expiresAtMs() };
        database.onTerm(term, link.replica);
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
  return {
    acquire: (id, owner) =>
      runStatement(link, "acquire", () => setOwner(id, (before) => before === undefined || before === owner, owner)),
    release: async (id, owner) => {
      await runStatement(link, "release", () => setOwner(id, (before) => before === owner, undefined));
    },
    close: (id, owner) => runStatement(link, "close", () => setOwner(id, (before) => before === owner, "closed")),
    recordVerified: ({ id, payer }, owner) =>
      runStatement(link, "recordVerified", () => {
        const ofPayer = [...tables.verifications.values()].filter((note) => note.payer === payer.toLowerCase());
        if (ofPayer.length >= payerNotesMax) return false;
        const times = (tables.verifications.get(`${id} ${owner}`)?.times ?? 0) + 1;
        tables.verifications.set(`${id} ${owner}`, { id, owner, times, atMs: nowMs(), payer: payer.toLowerCase() });
        return true;
      }),
    forgetRejected: (id, owner) =>
      runStatement(link, "forgetRejected", () => {
        const note = tables.verifications.get(`${id} ${owner}`);
        if (note !== undefined && note.times > 1)
          tables.verifications.set(`${id} ${owner}`, { ...note, times: note.times - 1 });
        else tables.verifications.delete(`${id} ${owner}`);
      }),
    wasVerified: (id, owner) => runStatement(link, "wasVerified", () => tables.verifications.has(`${id} ${owner}`)),
    verifiedOnce: (id, owner) =>
      runStatement(link, "verifiedOnce", () => (tables.verifications.get(`${id} ${owner}`)?.times ?? 0) <= 1),
    forgetNotes: (place, max) => runStatement(link, "forgetNotes", () => rows.deleteNotes(tables, place, max)),
  };
}
