import { expect, test } from "vitest";
import { createInFlightBook, unsent } from "./in-flight.ts";
import type { Settlement } from "./settlement.ts";

const settlement: Settlement = {
  id: `0x${"1d".repeat(32)}`,
  asset: `0x${"a5".repeat(20)}`,
  payer: `0x${"01".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  amount: 10_000n,
  authorizationNonce: `0x${"0c".repeat(32)}`,
  validBefore: 1_800_000_300n,
  callData: "0xe3ee160e",
};
const rival: Settlement = { ...settlement, id: `0x${"2d".repeat(32)}` };
const ending = unsent(new Error("the node is away"));

test("a settlement that has ended is forgotten, with what it would have used up", async () => {
  const book = createInFlightBook();
  const entry = book.add(settlement, []);
  expect(book.hasRival(rival)).toBe(true);
  book.end(entry, ending);
  expect(await entry.ended).toBe(ending);
  expect([book.get(settlement.id), book.size(), book.hasRival(rival)]).toEqual([undefined, 0, false]);
});

test("one that ends a second time leaves the same payment alone, which is under way again", () => {
  const book = createInFlightBook();
  const abandoned = book.add(settlement, []);
  book.end(abandoned, ending);
  const retried = book.add(settlement, []);
  book.end(abandoned, ending);
  expect(book.get(settlement.id)).toBe(retried);
  expect(book.hasRival(rival)).toBe(true);
});
