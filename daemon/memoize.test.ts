import { beforeEach, expect, test } from "vitest";
import { memoize, rememberLast } from "./memoize.ts";
import { measureHeap } from "./testing/heap-size.ts";

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
