import { expect, test } from "vitest";
import { sampleAttempt, sampleSettlement } from "../testing/sample-settlement.ts";
import { createInFlightSettlements } from "./settlement.ts";

const rival = { ...sampleSettlement, id: `0x${"2d".repeat(32)}` } as const;
const failure = new Error("the node is away");

test("a retry stays in flight although its abandoned settlement ends twice", () => {
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  const abandonedEntry = book.add(sampleSettlement, []);
  book.end(abandonedEntry, failure);
  const retriedEntry = book.add(sampleSettlement, []);
  book.end(abandonedEntry, failure);
  expect(book.get(sampleSettlement.id)).toBe(retriedEntry);
  expect(book.hasConflict(rival)).toBe(true);
});

test("reports the age of the oldest request, never below zero", () => {
  const book = createInFlightSettlements({ clock: () => 9_000, monotonicMs: () => 0 });
  expect(book.oldestMs()).toBe(0);
  const entries = [11_000, 1_000, 5_000].map((begunAtMs, index) =>
    book.add({ ...sampleSettlement, id: `0x${String(index).repeat(64)}`, begunAtMs }, []),
  );
  const ages = [1, 2, 0].map((index) => {
    const ageMs = book.oldestMs();
    book.end(entries[index] as (typeof entries)[number], failure);
    return ageMs;
  });
  expect(ages, "the last one was requested by a replica whose clock is ahead").toEqual([8_000, 4_000, 0]);
});

test.each([
  ["from its wall-clock age", 1_000, 5_000 - 1_000],
  ["as now if it was signed in the future", 9_000, 5_000],
])("computes when an earlier process set the transaction's fee, %s", (_, signedAtMs, pricedAtMs) => {
  const book = createInFlightSettlements({ clock: () => 2_000, monotonicMs: () => 5_000 });
  expect(book.add(sampleSettlement, [{ ...sampleAttempt, signedAtMs }])).toMatchObject({ pricedAtMs });
});

test("uses the current time for a settlement without a transaction", () => {
  const book = createInFlightSettlements({ clock: () => 2_000, monotonicMs: () => 5_000 });
  expect(book.add(sampleSettlement, [])).toMatchObject({ pricedAtMs: 5_000, sentAtMs: undefined });
});
