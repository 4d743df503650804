import { expect, test } from "vitest";
import { NewConnections } from "./new-connections.ts";

const times = (count: number, made: () => boolean) => Array.from({ length: count }, made).filter(Boolean).length;

test("an address makes its burst at once, and then its rate; others have their own", () => {
  let now = 0;
  const made = new NewConnections({ perSecond: 100, burst: 300 }, () => now);
  expect(times(1_000, () => made.mayMake("a"))).toBe(300);
  expect(made.mayMake("b")).toBe(true);
  now += 100;
  expect(times(1_000, () => made.mayMake("a"))).toBe(10);
  now += 60_000;
  expect(times(1_000, () => made.mayMake("a"))).toBe(300);
});

test("a hundred thousand addresses are remembered, and of more those that came last", () => {
  const made = new NewConnections({ perSecond: 1, burst: 3 }, () => 0);
  times(3, () => made.mayMake("first"));
  expect(made.mayMake("first")).toBe(false);
  for (let at = 0; at < 100_000; at += 1) made.mayMake(String(at));
  times(3, () => made.mayMake("last"));
  expect([made.mayMake("first"), made.mayMake("last")]).toEqual([true, false]);
});
