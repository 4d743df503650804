import { expect, it } from "vitest";
import { KeyCounts } from "./key-counts.ts";

it("counts by key, and gives the place of a key that counts for nothing to another one", () => {
  const counts = new KeyCounts();
  expect([counts.increase("a"), counts.increase("b"), counts.increase("a")]).toEqual([0, 1, 0]);
  expect(["a", "b", "c"].map((key) => counts.get(key))).toEqual([2, 1, 0]);
  counts.decreaseAt(1);
  counts.decrease("c");
  expect(counts.increase("c")).toBe(1);
  counts.decrease("a");
  expect(["a", "b", "c"].map((key) => counts.get(key))).toEqual([1, 0, 1]);
});
