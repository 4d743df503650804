import { expect, test } from "vitest";
import { daysUntilFull, diskCondition } from "./disk-watch.ts";
import { compareHeights } from "./reference-watch.ts";

const dayMs = 86_400_000;
const look = (atMs: number, usedBytes: number) => ({ atMs, usedBytes, freeBytes: 1_000 - usedBytes });
const at = (height: number) => ({ url: "http://x", height });

test("the days until a disk is full follow from its slope", () => {
  expect(daysUntilFull([look(0, 100), look(dayMs, 200)])).toBeCloseTo(8);
  expect(daysUntilFull([look(0, 200), look(dayMs, 100)])).toBeUndefined();
  expect(daysUntilFull([look(0, 100), look(1_000, 200)])).toBeUndefined();
});

test("a disk is told with what is free, and with the days that are left", () => {
  const gibibyte = 2 ** 30;
  const half = { atMs: 0, usedBytes: 50 * gibibyte, freeBytes: 50 * gibibyte };
  expect(diskCondition("/data", half, undefined, 0.1)).toMatchObject({
    status: "True",
    message: "50.0 GiB (50 %) are free at /data.",
  });
  const nearlyFull = { atMs: 0, usedBytes: 95 * gibibyte, freeBytes: 5 * gibibyte };
  expect(diskCondition("/data", nearlyFull, 2.52, 0.1)).toEqual({
    type: "DiskSpaceLeft",
    status: "False",
    reason: "Low",
    message:
      "5.0 GiB (5 %) are free at /data. At the present slope it is full in 2.5 days. Make the disk larger, or keep auto-pruning on.",
  });
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
