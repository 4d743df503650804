import { describe, expect, it } from "vitest";
import { planGrowth, parseQuantityBytes, type VolumeState } from "./volume-claim.ts";

const gib = 2 ** 30;
const limits = { growBelowFreeRatio: 0.15, stepGibibytes: 100, ceilingGibibytes: 650, pauseMs: 1_000 };
const full: VolumeState = {
  freeRatio: 0.1,
  requestedBytes: 500 * gib,
  capacityBytes: 500 * gib,
  grownMsAgo: undefined,
};

describe("planGrowth", () => {
  it("grows a volume that is filling up by one step, up to the ceiling", () => {
    expect(planGrowth(full, limits)).toEqual({ kind: "grow", toGibibytes: 600 });
    const largerClaim = { ...full, requestedBytes: 600 * gib, capacityBytes: 600 * gib };
    expect(planGrowth(largerClaim, limits)).toEqual({ kind: "grow", toGibibytes: 650 });
  });

  it("leaves a volume alone if it has free space, is growing, or has just grown", () => {
    expect(planGrowth({ ...full, freeRatio: 0.15 }, limits)).toEqual({ kind: "enough" });
    expect(planGrowth({ ...full, requestedBytes: 600 * gib }, limits)).toEqual({ kind: "growing" });
    expect(planGrowth({ ...full, grownMsAgo: 999 }, limits)).toEqual({ kind: "paused", forMs: 1 });
    expect(planGrowth({ ...full, grownMsAgo: 1_000 }, limits)).toMatchObject({ kind: "grow" });
  });

  it.each([650, 700, 5_000])("never shrinks a volume: keeps %d GiB under a ceiling of 650", (size) => {
    const largeClaim = { ...full, requestedBytes: size * gib, capacityBytes: size * gib };
    expect(planGrowth(largeClaim, limits)).toEqual({ kind: "at-ceiling" });
  });
});

describe("quantityBytes", () => {
  it.each([
    ["500Gi", 500 * gib],
    ["1T", 1e12],
    ["1.5Ti", 1.5 * 2 ** 40],
    ["1e9", 1e9],
    ["12345", 12_345],
  ])("%s", (text, bytes) => {
    expect(parseQuantityBytes(text)).toBe(bytes);
  });

  it.each(["", "Gi", "5 Gi", "-1", "5X"])("%j is not a quantity", (text) => {
    expect(parseQuantityBytes(text)).toBeUndefined();
  });
});
