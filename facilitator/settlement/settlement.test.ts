import { expect, test } from "vitest";
import { sampleAttempt, sampleSettlement } from "../testing/sample-settlement.ts";
import { createInFlightSettlements } from "./settlement.ts";

const rival = { ...sampleSettlement, id: `0x${"2d".repeat(32)}` } as const;
const ending = new Error("the node is away");

test("a settlement that has ended is forgotten, with what it would have used up", async () => {
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  const entry = book.add(sampleSettlement, []);
  expect(book.hasConflict(rival)).toBe(true);
  book.end(entry, ending);
  expect(await entry.ended).toBe(ending);
  expect([book.get(sampleSettlement.id), book.size(), book.hasConflict(rival)]).toEqual([undefined, 0, false]);
});

test("one that ends a second time leaves the same payment alone, which is under way again", () => {
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  const abandoned = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  const retried = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  expect(book.get(sampleSettlement.id)).toBe(retried);
  expect(book.hasConflict(rival)).toBe(true);
});

test("the age of the oldest is reported, however many younger ones end", () => {
  const book = createInFlightSettlements({ clock: () => 9_000, monotonicMs: () => 0 });
  expect(book.oldestMs()).toBe(0);
  const first = book.add({ ...sampleSettlement, begunAtMs: 1_000 }, []);
  const second = book.add({ ...rival, begunAtMs: 5_000 }, []);
  expect(book.oldestMs()).toBe(8_000);
  book.end(second, ending);
  expect(book.oldestMs()).toBe(8_000);
  book.end(first, ending);
  expect(book.oldestMs()).toBe(0);
});

test("the age counts from when a settlement was requested, whenever this process took it up and in whatever order", () => {
  const book = createInFlightSettlements({ clock: () => 700_000, monotonicMs: () => 0 });
  book.add({ ...rival, begunAtMs: 690_000 }, []);
  const old = book.add({ ...sampleSettlement, begunAtMs: 10_000 }, []);
  expect(book.oldestMs()).toBe(690_000);
  book.end(old, ending);
  expect(book.oldestMs()).toBe(10_000);
});

test("a settlement that a replica whose clock is ahead requested is not younger than nothing", () => {
  const book = createInFlightSettlements({ clock: () => 1_000, monotonicMs: () => 0 });
  book.add({ ...sampleSettlement, begunAtMs: 5_000 }, []);
  expect(book.oldestMs()).toBe(0);
});

test.each([
  ["as old as the wall clock says", 1_000, 5_000 - 1_000],
  ["new where the clock was ahead when it was signed", 9_000, 5_000],
])("the fee of a transaction that an earlier process signed is %s", (_, signedAtMs, pricedAtMs) => {
  const book = createInFlightSettlements({ clock: () => 2_000, monotonicMs: () => 5_000 });
  expect(book.add(sampleSettlement, [{ ...sampleAttempt, signedAtMs }])).toMatchObject({ pricedAtMs });
});

test("a settlement without a transaction is as new as its first one will be", () => {
  const book = createInFlightSettlements({ clock: () => 2_000, monotonicMs: () => 5_000 });
  expect(book.add(sampleSettlement, [])).toMatchObject({ pricedAtMs: 5_000, sentAtMs: undefined });
});
