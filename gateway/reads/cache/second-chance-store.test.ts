import { expect, test } from "vitest";
import { createFrequencySketch } from "./second-chance-store.ts";
import { hashKey } from "../../json-rpc/key-hash.ts";

const middle = (text: string) => "a".repeat(256) + text + "b".repeat(256);

test("counts how often a key came before", () => {
  const sketch = createFrequencySketch();
  expect([1, 2, 3, 4].map(() => sketch.count(hashKey("a")))).toEqual([0, 1, 2, 3]);
  expect(sketch.count(hashKey("b"))).toBe(0);
});

test("takes few of a million keys that come once for known ones, and knows one that keeps coming among them", () => {
  const sketch = createFrequencySketch();
  let mistaken = 0;
  let known = 0;
  for (let index = 0; index < 1_000_000; index += 1) {
    if (sketch.count(hashKey(`eth_getBalance ["0x${index.toString(16).padStart(40, "0")}","latest"]`)) > 0)
      mistaken += 1;
    if (index % 1_000 === 999 && sketch.count(hashKey("hot")) > 0) known += 1;
  }
  expect(mistaken).toBeLessThan(20_000);
  expect(known).toBeGreaterThan(990);
});

test("forgets a key that does not come any more", () => {
  const sketch = createFrequencySketch();
  for (let index = 0; index < 100; index += 1) sketch.count(hashKey("a"));
  for (let index = 0; index < 200_000; index += 1) sketch.count(hashKey(`other ${index}`));
  expect(sketch.count(hashKey("a"))).toBeLessThan(2);
});

test("looks at no more of a long key than its ends", () => {
  expect(hashKey(middle("x"))).toBe(hashKey(middle("y")));
  expect(hashKey(middle("x"))).not.toBe(hashKey(middle("xx")));
  expect(hashKey("ab")).not.toBe(hashKey("ba"));
});
