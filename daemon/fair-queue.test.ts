import { expect, it } from "vitest";
import { FairQueue } from "./fair-shares.ts";

const anyone = () => true;
const ticket = (caller: string, at: number) => ({ call: { caller }, at });

function drain(turns: FairQueue<ReturnType<typeof ticket>>): string[] {
  const order: string[] = [];
  for (let next = turns.next(anyone); next !== undefined; next = turns.next(anyone)) {
    order.push(`${next.call.caller}${next.at}`);
  }
  return order;
}

it("serves callers round-robin, and keeps each caller's order", () => {
  const turns = new FairQueue<ReturnType<typeof ticket>>();
  for (let at = 0; at < 1_000; at += 1) turns.add(ticket("a", at));
  for (let at = 0; at < 2; at += 1) turns.add(ticket("b", at));
  turns.add(ticket("c", 0));
  expect([turns.size, turns.sizeOf("a"), turns.sizeOf("b"), turns.sizeOf("d")]).toEqual([1_003, 1_000, 2, 0]);
  const order = drain(turns);
  expect(order.slice(0, 6)).toEqual(["a0", "b0", "c0", "a1", "b1", "a2"]);
  expect(order).toHaveLength(1_003);
  expect(turns.size).toBe(0);
});

it("skips a caller that can't be served now, and keeps its turn", () => {
  const turns = new FairQueue<ReturnType<typeof ticket>>();
  for (const caller of ["a", "b", "c"]) turns.add(ticket(caller, 0));
  expect(turns.next((caller) => caller === "b")?.call.caller).toBe("b");
  expect(turns.next(() => false)).toBeUndefined();
  expect(turns.size).toBe(2);
  expect(drain(turns)).toEqual(["a0", "c0"]);
});

it("serves a shared call once, at its callers' earliest turn", () => {
  const turns = new FairQueue<ReturnType<typeof ticket>>();
  for (let at = 0; at < 4; at += 1) turns.add(ticket("a", at));
  const sharedTicket = ticket("a", 4);
  turns.add(sharedTicket);
  turns.join(sharedTicket, "b");
  turns.join(sharedTicket, "b");
  turns.join(sharedTicket, "a");
  turns.join(ticket("a", 5), "c");
  turns.add(ticket("b", 0));
  expect([turns.size, turns.sizeOf("a"), turns.sizeOf("b"), turns.sizeOf("c")]).toEqual([6, 5, 2, 0]);
  expect(drain(turns)).toEqual(["a0", "a4", "a1", "b0", "a2", "a3"]);
  const left = ticket("a", 6);
  turns.add(left);
  turns.join(left, "b");
  turns.delete(left);
  expect([turns.size, turns.sizeOf("b"), drain(turns)]).toEqual([0, 0, []]);
});

it("removes a cancelled call once", () => {
  const turns = new FairQueue<ReturnType<typeof ticket>>();
  const gone = ticket("a", 0);
  turns.add(gone);
  turns.add(ticket("a", 1));
  turns.delete(gone);
  turns.delete(gone);
  expect([turns.size, [...turns].map(({ at }) => at)]).toEqual([1, [1]]);
  expect(drain(turns)).toEqual(["a1"]);
});
