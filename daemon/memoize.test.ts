import { beforeEach, expect, test } from "vitest";
import { memoize } from "./memoize.ts";

let made: string[] = [];
beforeEach(() => (made = []));
const make = (name: string) => {
  made.push(name);
  return name === "yes";
};

test("makes what a name stands for once, also when that is false", () => {
  const of = memoize({ most: 10, nameLength: 10 }, make);
  expect([of("yes"), of("no"), of("yes"), of("no")]).toEqual([true, false, true, false]);
  expect(made).toEqual(["yes", "no"]);
});

test("remembers no long name, and forgets all when they are too many", () => {
  const of = memoize({ most: 2, nameLength: 3 }, make);
  for (const name of ["long", "long", "a", "b", "a", "c", "a"]) of(name);
  expect(made).toEqual(["long", "long", "a", "b", "c", "a"]);
});
