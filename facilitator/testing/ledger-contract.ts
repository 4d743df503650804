import { expect, test } from "vitest";
import { StoreError, type SqlStore } from "#daemon/sql/store.ts";
import { createLedger, type Ledger } from "../settlement/ledger/ledger.ts";
import { createOwnership, type Ownership } from "../settlement/ownership.ts";
import type { Attempt, Settlement } from "../settlement/settlement.ts";

/** Settlement with amounts that exceed 64 bits. */
export const settlement: Settlement = {
  id: `0x${"1d".repeat(32)}`,
  asset: `0x${"a5".repeat(20)}`,
  contract: `0x${"a5".repeat(20)}`,
  payer: `0x${"01".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  amount: 2n ** 200n,
  authorizationNonce: `0x${"0c".repeat(32)}`,
  validBefore: 2n ** 256n - 1n,
  callData: "0xe3ee160e",
  begunAtMs: 1_700_000_000_000,
  owner: "the first",
};

/** A transaction of {@link settlement}. */
export const attempt: Attempt = {
  hash: `0x${"aa".repeat(32)}`,
  signer: `0x${"51".repeat(20)}`,
  nonce: 5,
  rawTransaction: "0x02aa",
  maxFeePerGas: 2n ** 64n,
  maxPriorityFeePerGas: 1n,
  signedAtMs: 1_000,
};

/** A replacement of that attempt, signed after the clock was set back. */
const secondAttempt: Attempt = { ...attempt, hash: `0x${"bb".repeat(32)}`, maxFeePerGas: 10n ** 20n, signedAtMs: 500 };
export const settled = { state: "settled", transaction: attempt.hash } as const;

export const testClockMs = 1_000;

/** Ledger under test; `ledgerFor` returns a journal whose writes a guard may reject. */
export type LedgerUnderTest = AsyncDisposable &
  Readonly<{ ledgerFor: (guard: () => Promise<void>) => Ledger; ownership: Ownership }>;

export function openTestLedger(store: SqlStore): LedgerUnderTest {
  const [chain, dependencies] = [{ chainId: 1_672 }, { store, clock: () => testClockMs }];
  return {
    ledgerFor: (guard) => createLedger(chain, { ...dependencies, guard }),
    ownership: createOwnership(chain, dependencies),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Defines the tests that every settlement ledger must pass, whatever its storage. `open` opens a separate empty ledger for a name. */
export function testLedger(open: (name: string) => Promise<LedgerUnderTest>): void {
  let count = 0;
  const openScene = async (guard: () => Promise<void> = async () => undefined) => {
    const subject = await open(`scene-${(count += 1)}`);
    const { ownership } = subject;
    return {
      ...subject.ledgerFor(guard),
      ownership,
      [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
    };
  };
  testJournal(openScene);
  testWithdrawals(openScene);
  testShared(openScene);
  testRivals(openScene);
  testOwners(openScene);

  test("writes nothing when the guard throws", async () => {
    await using ledger = await openScene(() => Promise.reject(new Error("not yours")));
    await expect(ledger.begin([{ settlement, attempt }])).rejects.toThrow("not yours");
    await expect(ledger.finish(new Map([[settlement.id, settled]]))).rejects.toThrow("not yours");
    expect(await ledger.unfinished()).toEqual([]);
  });
}

type Scene = (guard?: () => Promise<void>) => Promise<AsyncDisposable & Ledger & Readonly<{ ownership: Ownership }>>;

function testJournal(scene: Scene): void {
  test("returns unfinished settlements with their transactions in order even if the clock went back", async () => {
    await using ledger = await scene();
    await ledger.begin([{ settlement, attempt }]);
    await ledger.begin([{ settlement, attempt: secondAttempt }]);
    expect(await ledger.unfinished()).toEqual([{ settlement, attempts: [attempt, secondAttempt] }]);
    expect(await ledger.progress(settlement.id)).toEqual({ state: "begun", owner: "the first" });
  });

  test("removes a settlement with an outcome from the unfinished ones", async () => {
    await using ledger = await scene();
    await ledger.begin([{ settlement, attempt }]);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect(await ledger.unfinished()).toEqual([]);
    expect(await ledger.progress(settlement.id)).toEqual({
      ...settled,
      amount: settlement.amount,
      owner: "the first",
    });
  });

  test("records a batch completely or not at all", async () => {
    await using ledger = await scene();
    const other = {
      ...settlement,
      id: `0x${"2e".repeat(32)}`,
      authorizationNonce: `0x${"0d".repeat(32)}`,
    } as const;
    const started = [
      { settlement, attempt },
      { settlement: { ...other, authorizationNonce: settlement.authorizationNonce }, attempt: secondAttempt },
    ];
    await expect(ledger.begin(started)).rejects.toThrow(/unique/i);
    expect(await ledger.unfinished()).toEqual([]);
    await ledger.begin([]);
    await ledger.finish(new Map());
  });

  test("deletes a settlement with its only transaction, but not with one of its two", async () => {
    await using ledger = await scene();
    await ledger.begin([{ settlement, attempt }]);
    await ledger.begin([{ settlement, attempt: secondAttempt }]);
    await ledger.withdraw(secondAttempt);
    expect(await ledger.unfinished()).toEqual([{ settlement, attempts: [attempt] }]);
    await ledger.withdraw(attempt);
    expect(await ledger.unfinished()).toEqual([]);
  });

  test("prunes only settlements that finished before the given time", async () => {
    await using ledger = await scene();
    await ledger.begin([{ settlement, attempt }]);
    expect(await ledger.prune(5_000, 10)).toBe(0);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect(await ledger.prune(1_000, 10)).toBe(0);
    expect(await ledger.prune(1_001, 10)).toBe(1);
    expect(await ledger.progress(settlement.id)).toBeUndefined();
  });

  test("prunes at most the given number of settlements", async () => {
    await using ledger = await scene();
    const hashes = [1, 2, 3].map((number) => `0x${String(number).repeat(64)}` as const);
    for (const id of hashes) {
      const started = { settlement: { ...settlement, id, authorizationNonce: id }, attempt: { ...attempt, hash: id } };
      await ledger.begin([started]);
      await ledger.finish(new Map([[id, { ...settled, transaction: id }]]));
    }
    expect([await ledger.prune(1_001, 2), await ledger.prune(1_001, 2), await ledger.prune(1_001, 2)]).toEqual([
      2, 1, 0,
    ]);
  });
}

function testWithdrawals(scene: Scene): void {
  test("before another transaction starts, deletes a rejected one whose withdrawal failed", async () => {
    let isDown = false;
    await using ledger = await scene(async () => {
      if (isDown) throw new StoreError("the disk fails");
    });
    const thirdAttempt: Attempt = { ...secondAttempt, hash: `0x${"cc".repeat(32)}`, nonce: 6 };
    await ledger.begin([{ settlement, attempt }]);
    await ledger.begin([{ settlement, attempt: secondAttempt }]);
    isDown = true;
    await expect(ledger.withdraw(secondAttempt)).rejects.toThrow("the disk fails");
    await expect(ledger.begin([{ settlement, attempt: thirdAttempt }])).rejects.toThrow("the disk fails");
    isDown = false;
    await ledger.begin([{ settlement, attempt: thirdAttempt }]);
    expect(await ledger.unfinished()).toEqual([{ settlement, attempts: [attempt, thirdAttempt] }]);
    await ledger.begin([{ settlement, attempt: secondAttempt }]);
    expect((await ledger.unfinished())[0]?.attempts, "the same bytes again").toHaveLength(3);
  });
}

function testShared(scene: Scene): void {
  test("returns batched settlements with their transaction, and deletes them with it", async () => {
    await using ledger = await scene();
    const other = {
      ...settlement,
      id: `0x${"2e".repeat(32)}`,
      authorizationNonce: `0x${"0d".repeat(32)}`,
    } as const;
    const first: Attempt = { ...secondAttempt, batch: { index: 0, size: 2 } };
    const lastAttempt: Attempt = { ...secondAttempt, batch: { index: 1, size: 2 } };
    await ledger.begin([{ settlement, attempt }]);
    await ledger.begin([
      { settlement, attempt: first },
      { settlement: other, attempt: lastAttempt },
    ]);
    expect(await ledger.unfinished()).toEqual([
      { settlement, attempts: [attempt, first] },
      { settlement: other, attempts: [lastAttempt] },
    ]);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect(await ledger.unfinished()).toEqual([{ settlement: other, attempts: [lastAttempt] }]);
    await ledger.withdraw(lastAttempt);
    expect(await ledger.unfinished()).toEqual([]);
    expect(await ledger.progress(other.id)).toBeUndefined();
    expect(await ledger.progress(settlement.id)).toMatchObject(settled);
  });
}

function testRivals(scene: Scene): void {
  test("reports a conflict of authorization nonces until the first payment fails", async () => {
    await using ledger = await scene();
    const rival = { ...settlement, id: `0x${"2e".repeat(32)}` } as const;
    expect(await ledger.hasConflict(rival)).toBe(false);
    await ledger.begin([{ settlement, attempt }]);
    expect(await ledger.hasConflict(rival)).toBe(true);
    expect(await ledger.hasConflict(settlement), "no rival of itself").toBe(false);
    await expect(ledger.begin([{ settlement: rival, attempt: secondAttempt }])).rejects.toThrow(/unique/i);
    const failedRecord = {
      state: "failed",
      transaction: attempt.hash,
      reason: "invalid_exact_evm_transaction_failed",
      message: "m",
    } as const;
    await ledger.finish(
      new Map([
        [settlement.id, failedRecord],
        [rival.id, failedRecord],
      ]),
    );
    expect(await ledger.progress(settlement.id)).toEqual({ ...failedRecord, owner: "the first" });
    expect(await ledger.hasConflict(rival)).toBe(false);
  });
}

function testOwners(scene: Scene): void {
  const owner = "the first";

  test("the first caller still owns a settlement after a second start and after its outcome", async () => {
    await using ledger = await scene();
    const { acquire } = ledger.ownership;
    await ledger.begin([{ settlement, attempt }]);
    await ledger.begin([{ settlement: { ...settlement, owner: "the second" }, attempt: secondAttempt }]);
    expect([await acquire(settlement.id, "the second"), await acquire(settlement.id, owner)]).toEqual([false, true]);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect([await acquire(settlement.id, "the second"), await acquire(settlement.id, owner)]).toEqual([false, true]);
  });

  test("one of several callers acquires an unowned settlement", async () => {
    await using ledger = await scene();
    const { acquire, release } = ledger.ownership;
    await ledger.begin([{ settlement, attempt }]);
    await release(settlement.id, "somebody else");
    expect(await ledger.progress(settlement.id), "only its owner can give it up").toMatchObject({ owner });
    await release(settlement.id, owner);
    expect(await ledger.progress(settlement.id)).toEqual({ state: "begun", owner: undefined });
    const acquisitions = await Promise.all(["a", "b", "c", "d"].map((name) => acquire(settlement.id, name)));
    expect(acquisitions.filter(Boolean)).toHaveLength(1);
  });

  test("one of several callers closes a settlement, which then has no owner", async () => {
    await using ledger = await scene();
    const { acquire, close } = ledger.ownership;
    await ledger.begin([{ settlement, attempt }]);
    const outcomes = await Promise.all([
      close(settlement.id, "another"),
      ...[1, 2, 3].map(() => close(settlement.id, owner)),
    ]);
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await acquire(settlement.id, owner)).toBe(false);
  });
}
