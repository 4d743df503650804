import { expect, it } from "vitest";
import { FairShares, type SharedLocation } from "./fair-shares.ts";

const places = 64;

/** Callers who take what they may, by turns, until none may have more: how many each has. */
function greedy(callers: readonly string[]) {
  const shares = new FairShares<SharedLocation>(places);
  const taken = new Map<string, SharedLocation[]>(callers.map((caller) => [caller, []]));
  const takers = () => callers.filter((caller) => shares.mayAcquire(caller));
  const all = () => [...taken.values()].reduce((sum, { length }) => sum + length, 0);
  for (let next = takers(); next.length > 0 && all() < places; next = takers()) {
    for (const caller of next) {
      if (!shares.mayAcquire(caller) || all() === places) continue;
      const place = {};
      shares.acquire(place, caller);
      taken.get(caller)?.push(place);
    }
  }
  return { shares, taken, counts: [...taken.values()].map(({ length }) => length), free: places - all() };
}

it("leaves some free for who comes next, however many are greedy", () => {
  expect(greedy(["a"]).counts).toEqual([49]);
  for (const count of [2, 3, 5, 10]) {
    const { counts, free, shares } = greedy(Array.from({ length: count }, (_, at) => `greedy ${at}`));
    expect(free).toBeGreaterThan(0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(shares.mayAcquire("another")).toBe(true);
  }
});

it("lets callers have more again when others give back", () => {
  const { shares, taken } = greedy(["a", "b"]);
  expect(shares.mayAcquire("a")).toBe(false);
  for (const place of taken.get("b") ?? []) {
    shares.release(place);
    shares.release(place);
  }
  for (let more = 0; more < 20; more += 1) {
    expect(shares.mayAcquire("a")).toBe(true);
    shares.acquire({}, "a");
  }
});

it("gives one caller all of few", () => {
  const shares = new FairShares<SharedLocation>(4);
  for (let taken = 0; taken < 4; taken += 1) {
    expect(shares.mayAcquire("a")).toBe(true);
    shares.acquire({}, "a");
  }
});
