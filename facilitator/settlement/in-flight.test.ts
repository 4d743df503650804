import { expect, test } from "vitest";
import { sampleSettlement } from "../testing/sample-settlement.ts";
import { createInFlightBook } from "./in-flight.ts";

const rival = { ...sampleSettlement, id: `0x${"2d".repeat(32)}` } as const;
const ending = new Error("the node is away");

test("a settlement that has ended is forgotten, with what it would have used up", async () => {
  const book = createInFlightBook({ clock: Date.now });
  const entry = book.add(sampleSettlement, []);
  expect(book.hasRival(rival)).toBe(true);
  book.end(entry, ending);
  expect(await entry.ended).toBe(ending);
  expect([book.get(sampleSettlement.id), book.size(), book.hasRival(rival)]).toEqual([undefined, 0, false]);
});

test("one that ends a second time leaves the same payment alone, which is under way again", () => {
  const book = createInFlightBook({ clock: Date.now });
  const abandoned = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  const retried = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  expect(book.get(sampleSettlement.id)).toBe(retried);
  expect(book.hasRival(rival)).toBe(true);
});

test("the age of the oldest is told, however many younger ones end", () => {
  let nowMs = 1_000;
  const book = createInFlightBook({ clock: () => nowMs });
  expect(book.oldestMs()).toBe(0);
  const first = book.add(sampleSettlement, []);
  nowMs = 5_000;
  const second = book.add(rival, []);
  nowMs = 9_000;
  expect(book.oldestMs()).toBe(8_000);
  book.end(second, ending);
  expect(book.oldestMs()).toBe(8_000);
  book.end(first, ending);
  expect(book.oldestMs()).toBe(0);
});
