import { beforeEach, expect, test } from "vitest";
import { LatestEntries, memoize, rememberLast } from "./memoize.ts";
import { measureHeap } from "./testing/heap-size.ts";
import { measureCpuMs } from "./testing/thread-cpu.ts";

let made: string[] = [];
beforeEach(() => (made = []));
const make = (name: string) => {
  made.push(name);
  return name === "yes";
};

test("computes a name's value once, even if it is falsy", () => {
  const of = memoize({ max: 10, nameLength: 10 }, make);
  expect([of("yes"), of("no"), of("yes"), of("no")]).toEqual([true, false, true, false]);
  expect(made).toEqual(["yes", "no"]);
});

test("does not cache a long name, and clears the cache when it is full", () => {
  const of = memoize({ max: 2, nameLength: 3 }, make);
  for (const name of ["long", "long", "a", "b", "a", "c", "a"]) of(name);
  expect(made).toEqual(["long", "long", "a", "b", "c", "a"]);
});

// Can fail only on Node 24: Node 26 copies the keys of a Map itself.
test("caches a name without the text it was sliced from", () => {
  const of = memoize({ max: 1_000, nameLength: 64 }, (name) => ({ name }));
  const [texts, textBytes] = [500, 65_536];
  const filler = "x".repeat(textBytes);
  const cut = (at: number) =>
    Buffer.from(`${filler}2001:db8::${1_000 + at}`)
      .toString("latin1")
      .slice(textBytes);
  const heapBefore = measureHeap();
  for (let at = 0; at < texts; at += 1) of(cut(at));
  expect(measureHeap() - heapBefore).toBeLessThan((texts * textBytes) / 4);
  expect(of(cut(7))).toBe(of("2001:db8::1007"));
});

test("caches the last result while its arguments are the same", () => {
  const list = rememberLast((...parts: readonly (string | undefined)[]) => [...parts]);
  const first = list("a", undefined);
  expect(list("a", undefined)).toBe(first);
  expect(list("a")).toEqual(["a"]);
  expect(list("a", undefined), "only the last one").not.toBe(first);
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
  // Getting the first key of a Map took a hundred times as long; misses of the processor's caches, five times.
  expect(measureAdding(100_000)).toBeLessThan(20 * measureAdding(1_000));
});
