import { expect, it } from "vitest";
import { FairShares, type SharedSlot, FairSlots } from "./fair-shares.ts";

const slotsMax = 64;

/** Lets callers take slots, round-robin, until none may take more; returns how many each has. */
function greedy(callers: readonly string[]) {
  const shares = new FairShares<SharedSlot>(slotsMax);
  const taken = new Map<string, SharedSlot[]>(callers.map((caller) => [caller, []]));
  const takers = () => callers.filter((caller) => shares.mayAcquire(caller));
  const all = () => [...taken.values()].reduce((sum, { length }) => sum + length, 0);
  for (let next = takers(); next.length > 0 && all() < slotsMax; next = takers()) {
    for (const caller of next) {
      if (!shares.mayAcquire(caller) || all() === slotsMax) continue;
      const slot = {};
      shares.acquire(slot, caller);
      taken.get(caller)?.push(slot);
    }
  }
  return { shares, taken, counts: [...taken.values()].map(({ length }) => length), free: slotsMax - all() };
}

it("leaves free slots for a newcomer, however many callers are greedy", () => {
  expect(greedy(["a"]).counts).toEqual([49]);
  for (const count of [2, 3, 5, 10]) {
    const { counts, free, shares } = greedy(Array.from({ length: count }, (_, at) => `greedy ${at}`));
    expect(free).toBeGreaterThan(0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(shares.mayAcquire("another")).toBe(true);
  }
});

it("allows callers more again once others release slots", () => {
  const { shares, taken } = greedy(["a", "b"]);
  expect(shares.mayAcquire("a")).toBe(false);
  for (const slot of taken.get("b") ?? []) {
    shares.release(slot);
    shares.release(slot);
  }
  for (let more = 0; more < 20; more += 1) {
    expect(shares.mayAcquire("a")).toBe(true);
    shares.acquire({}, "a");
  }
});

it("gives all slots to a single caller if there are few", () => {
  const shares = new FairShares<SharedSlot>(4);
  for (let taken = 0; taken < 4; taken += 1) {
    expect(shares.mayAcquire("a")).toBe(true);
    shares.acquire({}, "a");
  }
});

it("reports which limit is full: the caller's while slots are free, otherwise the total", () => {
  const slots = new FairSlots(20);
  const enter = (caller: string) => {
    const entry = slots.enter(caller);
    return entry.ok ? entry.slot : entry.full;
  };
  const first = Array.from({ length: 20 }, () => enter("a"));
  expect(first.filter((entry) => entry === "caller")).toHaveLength(4);
  expect(Array.from({ length: 6 }, () => enter("b")).slice(4)).toEqual(["all", "all"]);
  for (const entry of first) {
    if (typeof entry === "string") continue;
    entry[Symbol.dispose]();
    entry[Symbol.dispose]();
  }
  expect(Array.from({ length: 20 }, () => enter("c")).filter((entry) => typeof entry === "object")).toHaveLength(13);
});
