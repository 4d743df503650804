import { expect, test } from "vitest";
import type { SqlStore } from "#daemon/sql/store.ts";
import { termLifeMs, type SharedLedger } from "../settlement/leader/shared-ledger.ts";
import { attempt, settlement } from "./ledger-contract.ts";

/** A database shared by replicas: each `connect` returns another replica, and `passTime` ages its terms. */
export type SharedDatabase = AsyncDisposable &
  Readonly<{ connect: () => SharedLedger; passTime: (ms: number) => Promise<void> }>;

/** Ages the terms of a store as if time had passed, because they are compared with its own clock. */
export async function ageTerms(store: SqlStore, ms: number): Promise<void> {
  await store.change("UPDATE settler SET expires_at_ms = expires_at_ms - $1", [ms]);
}

/** Exceeds the resolution of a database's clock. */
const marginMs = 20;

const rival = { ...settlement, id: `0x${"2e".repeat(32)}` } as const;
const settledRecord = { state: "settled", transaction: attempt.hash } as const;

/** Defines the tests that every ledger shared by replicas must pass, whatever its storage. `open` opens an empty database. */
export function testSharedLedger(open: () => Promise<SharedDatabase>): void {
  testLease(open);
  testRequests(open);
}

function testLease(open: () => Promise<SharedDatabase>): void {
  test("grants the lease to one replica at a time, and rejects writes after its term", async () => {
    await using database = await open();
    const [firstReplica, secondReplica] = [database.connect(), database.connect()];
    expect(await firstReplica.lease.acquire()).toBe(1);
    expect(await secondReplica.lease.acquire()).toBeUndefined();
    expect(await firstReplica.lease.renew(1)).toBe(true);
    await firstReplica.lease.release(1);
    expect(await secondReplica.lease.acquire()).toBe(2);
    expect(await firstReplica.lease.renew(1)).toBe(false);
    await firstReplica.lease.release(1);
    expect(await firstReplica.lease.acquire(), "a replica can end only its own term").toBeUndefined();
    const late = firstReplica.inTerm(1);
    await expect(late.ledger.begin([{ settlement, attempt }])).rejects.toThrow("another replica settles now");
    const currentTerm = secondReplica.inTerm(2);
    await currentTerm.ledger.begin([{ settlement, attempt }]);
    // The second replica stops responding, as after kill -9; the first takes over once the term has expired.
    await database.passTime(termLifeMs + marginMs);
    expect(await firstReplica.lease.acquire()).toBe(3);
    await expect(currentTerm.ledger.withdraw(attempt)).rejects.toThrow("another replica settles now");
    await expect(currentTerm.ledger.finish(new Map([[settlement.id, settledRecord]]))).rejects.toThrow(
      "another replica settles now",
    );
    await expect(currentTerm.requests.decline(settlement.id, "late")).rejects.toThrow("another replica settles now");
    expect(await late.ledger.unfinished()).toHaveLength(1);
    expect(await firstReplica.requests.unsentReason(settlement.id)).toBeUndefined();
  });

  test("renewals extend a term, and its holder can start another", async () => {
    await using database = await open();
    const [firstReplica, secondReplica] = [database.connect(), database.connect()];
    expect(await firstReplica.lease.acquire()).toBe(1);
    await database.passTime(termLifeMs * 0.6);
    expect(await firstReplica.lease.renew(1)).toBe(true);
    await database.passTime(termLifeMs * 0.6);
    expect(await secondReplica.lease.acquire()).toBeUndefined();
    expect(await firstReplica.lease.acquire()).toBe(2);
    expect(await firstReplica.lease.renew(1)).toBe(false);
  });
}

function testRequests(open: () => Promise<SharedDatabase>): void {
  test("records a request once, and reports its outcome to every replica", async () => {
    await using database = await open();
    const [{ requests, lease, inTerm }, otherReplica] = [database.connect(), database.connect()];
    const requestResults = await Promise.all([
      requests.add(settlement),
      requests.add(settlement),
      otherReplica.requests.add(settlement),
    ]);
    expect(requestResults).toEqual([true, true, true]);
    expect(await requests.add(rival), "the authorization nonce is taken").toBe(false);
    const term = inTerm((await lease.acquire()) ?? 0);
    expect(await term.requests.waiting(10)).toEqual([settlement]);
    expect(await requests.states([settlement.id, rival.id])).toEqual(
      new Map([[settlement.id, { state: "begun", transaction: undefined, owner: "the first" }]]),
    );
    await term.ledger.begin([{ settlement, attempt }]);
    expect(await term.requests.waiting(10)).toEqual([]);
    expect((await otherReplica.requests.states([settlement.id])).get(settlement.id)).toEqual({
      state: "begun",
      transaction: attempt.hash,
      owner: "the first",
    });
    await term.ledger.finish(new Map([[settlement.id, settledRecord]]));
    expect((await otherReplica.requests.states([settlement.id])).get(settlement.id)).toMatchObject({
      state: "settled",
    });
  });

  test("deletes a declined request and keeps the reason, but not a sent one", async () => {
    await using database = await open();
    const { requests, lease, inTerm } = database.connect();
    const term = inTerm((await lease.acquire()) ?? 0);
    await requests.add(settlement);
    await term.requests.decline(settlement.id, "the chain charges too much");
    expect(await requests.states([settlement.id])).toEqual(new Map());
    expect(await requests.unsentReason(settlement.id)).toBe("the chain charges too much");
    expect(await requests.add(settlement), "it can be requested again").toBe(true);
    await term.ledger.begin([{ settlement, attempt }]);
    await term.requests.decline(settlement.id, "too late");
    expect((await requests.states([settlement.id])).size).toBe(1);
  });
}
