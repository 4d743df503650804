import { expect, test } from "vitest";
import { daysUntilFull } from "./disk-watch.ts";
import { compareHeights } from "./reference-watch.ts";

const dayMs = 86_400_000;
const look = (atMs: number, usedBytes: number) => ({ atMs, usedBytes, freeBytes: 1_000 - usedBytes });
const at = (height: number) => ({ url: "http://x", height });

test("the days until a disk is full follow from its slope", () => {
  expect(daysUntilFull([look(0, 100), look(dayMs, 200)])).toBeCloseTo(8);
  expect(daysUntilFull([look(0, 200), look(dayMs, 100)])).toBeUndefined();
  expect(daysUntilFull([look(0, 100), look(1_000, 200)])).toBeUndefined();
});

test("one reference that is far ahead does not make the node late", () => {
  expect(compareHeights(100, [at(101), at(99), at(1_000_000)], 50)).toMatchObject({
    lagBlocks: 1,
    condition: { reason: "Current" },
  });
  expect(compareHeights(100, [{ url: "http://x", failure: "http://x is down." }], 50).condition).toMatchObject({
    reason: "NoReference",
    message: "No reference endpoint answered: http://x is down.",
  });
});
