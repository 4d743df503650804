import { expect, it } from "vitest";
import { CallerRounds } from "./caller-rounds.ts";

it("takes one of each caller's after the other, and each caller's in the order in which they came", () => {
  const rounds = new CallerRounds<string>();
  for (const waiting of ["a1", "a2", "a3"]) rounds.add("a", waiting);
  rounds.add("b", "b1");
  expect(rounds.next()).toBe("a1");
  rounds.add("c", "c1");
  rounds.add("b", "b2");
  const taken: (string | undefined)[] = [];
  while (!rounds.isEmpty) taken.push(rounds.next());
  expect(taken).toEqual(["b1", "a2", "c1", "b2", "a3"]);
  expect(rounds.has("a")).toBe(false);
  expect(rounds.next()).toBeUndefined();
});
