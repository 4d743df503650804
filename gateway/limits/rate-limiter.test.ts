import { describe, expect, it, test } from "vitest";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";
import { createProcessRateLimiter, LatestEntries } from "./rate-limiter.ts";

const rates = { requestsPerSecond: 10, requestBurst: 3, computeUnitsPerSecond: 100, computeUnitBurst: 100 };

function createLimiter(start: number, clients = 10) {
  const clock = { now: start };
  return { clock, limiter: createProcessRateLimiter({ clients }, { now: () => clock.now }) };
}

describe("createProcessRateLimiter", () => {
  it("admits a burst, then the rate, and returns the wait", () => {
    const { clock, limiter } = createLimiter(1_000);
    for (let call = 0; call < 3; call += 1) expect(limiter.acquire("a", 1, rates)).toBeUndefined();
    expect(limiter.acquire("a", 1, rates)).toBeCloseTo(100);
    clock.now += 100;
    expect(limiter.acquire("a", 1, rates)).toBeUndefined();
    expect(limiter.acquire("a", 1, rates)).toBeCloseTo(100);
  });

  it("never admits more than burst plus rate over any period", () => {
    const { clock, limiter } = createLimiter(0);
    let admittedCount = 0;
    for (let ms = 0; ms < 10_000; ms += 7) {
      clock.now = ms;
      if (limiter.acquire("a", 1, rates) === undefined) admittedCount += 1;
    }
    expect(admittedCount).toBeGreaterThanOrEqual(100);
    expect(admittedCount).toBeLessThanOrEqual(103);
  });

  it("charges compute units, even for a call that costs more than the burst", () => {
    const { clock, limiter } = createLimiter(0);
    expect(limiter.acquire("a", 500, rates)).toBeUndefined();
    expect(limiter.acquire("a", 1, rates)).toBeCloseTo(10);
    clock.now += 1_000;
    expect(limiter.acquire("a", 500, rates)).toBeUndefined();
  });

  it("returns the wait for units without charging them", () => {
    const { clock, limiter } = createLimiter(1_000);
    expect(limiter.waitFor("a", 100, rates)).toBeUndefined();
    expect(limiter.acquire("a", 60, rates)).toBeUndefined();
    for (let attempt = 0; attempt < 3; attempt += 1) expect(limiter.waitFor("a", 50, rates)).toBeCloseTo(100);
    expect(limiter.waitFor("a", 40, rates)).toBeUndefined();
    clock.now += 100;
    expect(limiter.acquire("a", 50, rates)).toBeUndefined();
  });

  it("lets a caller go into debt and call again once it is paid", () => {
    const { clock, limiter } = createLimiter(0);
    limiter.owe("a", 150, rates);
    expect(limiter.acquire("a", 10, rates)).toBeCloseTo(600);
    clock.now += 599;
    expect(limiter.acquire("a", 10, rates)).toBeCloseTo(1);
    clock.now += 1;
    expect(limiter.acquire("a", 10, rates)).toBeUndefined();
  });

  it("limits the debt to a full burst", () => {
    const { clock, limiter } = createLimiter(0);
    for (let count = 0; count < 50; count += 1) limiter.owe("a", 1_000, rates);
    expect(limiter.acquire("a", 100, rates)).toBeCloseTo(2_000);
    clock.now += 2_000;
    expect(limiter.acquire("a", 100, rates)).toBeUndefined();
    expect(limiter.acquire("b", 100, rates)).toBeUndefined();
  });

  it("shortens the wait when the rate limit is raised", () => {
    const { clock, limiter } = createLimiter(1_000);
    const slow = { requestsPerSecond: 0.01, requestBurst: 1, computeUnitsPerSecond: 0.1, computeUnitBurst: 100 };
    expect(limiter.acquire("a", 100, slow)).toBeUndefined();
    limiter.owe("a", 1_000, slow);
    expect(limiter.acquire("a", 1, slow)).toBeGreaterThan(1_000_000);
    expect(limiter.waitFor("a", 1, rates)).toBeCloseTo(1_010);
    expect(limiter.acquire("a", 1, rates)).toBeCloseTo(1_010);
    clock.now += 1_011;
    expect(limiter.acquire("a", 1, rates)).toBeUndefined();
  });

  it("limits callers separately and remembers a limited number of them", () => {
    const { limiter } = createLimiter(0, 2);
    for (const key of ["a", "b", "c", "d"]) {
      for (let call = 0; call < 3; call += 1) expect(limiter.acquire(key, 1, rates)).toBeUndefined();
    }
    expect(limiter.clients()).toBe(2);
    expect(limiter.acquire("d", 1, rates)).toBeGreaterThan(0);
  });
});

test("keeps the latest entries, and does not refresh an entry that is set again", () => {
  const entries = new LatestEntries<number>(3);
  for (const [at, key] of ["a", "b", "c", "a", "d", "e"].entries()) entries.set(key, at);
  expect([entries.size, ..."abcde"].map((key) => (typeof key === "number" ? key : entries.get(key)))).toEqual([
    3,
    undefined,
    undefined,
    2,
    4,
    5,
  ]);
});

test("creates a missing value, including one that was evicted", () => {
  const entries = new LatestEntries<string>(2);
  const values = ["a", "b", "a", "c", "b", "a"].map((key, at) => entries.getOrCreate(key, () => `${key} ${at}`));
  expect(values).toEqual(["a 0", "b 1", "a 0", "c 3", "b 1", "a 5"]);
});

/** Measures how long adding clients takes while `remembered` of them are kept. */
function measureAdding(remembered: number): number {
  const entries = new LatestEntries<number>(remembered);
  return measureCpuMs(() => {
    for (let at = 0; at < 150_000; at += 1) entries.set(`2001:db8::${at}`, at);
  });
}

test("adds a client about as fast with 100,000 remembered as with 1,000", () => {
  // When the first key of a Map was looked up, it took a hundred times as long; the processor's caches alone account for five times.
  expect(measureAdding(100_000)).toBeLessThan(20 * measureAdding(1_000));
});
