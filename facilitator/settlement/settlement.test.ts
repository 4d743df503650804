import { expect, test } from "vitest";
import { sampleAttempt, sampleSettlement } from "../testing/sample-settlement.ts";
import { createInFlightSettlements } from "./settlement.ts";

const rival = { ...sampleSettlement, id: `0x${"2d".repeat(32)}` } as const;
const ending = new Error("the node is away");

test("one that ends a second time leaves the same payment alone, which is under way again", () => {
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  const abandoned = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  const retried = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  expect(book.get(sampleSettlement.id)).toBe(retried);
  expect(book.hasConflict(rival)).toBe(true);
});

test("the oldest age counts from the first request, whatever order they came in, and never below zero", () => {
  const book = createInFlightSettlements({ clock: () => 9_000, monotonicMs: () => 0 });
  expect(book.oldestMs()).toBe(0);
  const entries = [11_000, 1_000, 5_000].map((begunAtMs, index) =>
    book.add({ ...sampleSettlement, id: `0x${String(index).repeat(64)}`, begunAtMs }, []),
  );
  const ages = [1, 2, 0].map((index) => {
    const ageMs = book.oldestMs();
    book.end(entries[index] as (typeof entries)[number], ending);
    return ageMs;
  });
  expect(ages, "the last one was requested by a replica whose clock is ahead").toEqual([8_000, 4_000, 0]);
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
