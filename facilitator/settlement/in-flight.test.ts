import { expect, test } from "vitest";
import { sampleSettlement } from "../testing/sample-settlement.ts";
import { createInFlightBook } from "./in-flight.ts";

const rival = { ...sampleSettlement, id: `0x${"2d".repeat(32)}` } as const;
const ending = new Error("the node is away");

test("a settlement that has ended is forgotten, with what it would have used up", async () => {
  const book = createInFlightBook();
  const entry = book.add(sampleSettlement, []);
  expect(book.hasRival(rival)).toBe(true);
  book.end(entry, ending);
  expect(await entry.ended).toBe(ending);
  expect([book.get(sampleSettlement.id), book.size(), book.hasRival(rival)]).toEqual([undefined, 0, false]);
});

test("one that ends a second time leaves the same payment alone, which is under way again", () => {
  const book = createInFlightBook();
  const abandoned = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  const retried = book.add(sampleSettlement, []);
  book.end(abandoned, ending);
  expect(book.get(sampleSettlement.id)).toBe(retried);
  expect(book.hasRival(rival)).toBe(true);
});
