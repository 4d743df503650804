import { describe, expect, test } from "vitest";
import type { PruneInfo } from "#node/prune-info.ts";
import { trackPruning, evaluatePruneProgress } from "./prune-observation.ts";

const info: PruneInfo = {
  autoPrune: true,
  reservedWindow: 100_000n,
  pruneReservedVersion: 12n,
  flushedVersion: 18_446_744_073_709_551_615n,
  realPruneReservedVersion: 11n,
};

const at = (nowMs: number, height: number) => ({ nowMs, height, stalledAfterMs: 600_000 });

describe("auto-pruning that is enabled", () => {
  test("is stalled if blocks arrive but pruning makes no progress", () => {
    const progress = trackPruning(undefined, info, 0, 100);
    expect(trackPruning(progress, info, 500_000, 200)).toBe(progress);
    expect(evaluatePruneProgress(info, progress, at(700_000, 200))).toMatchObject({
      isStalled: true,
      message: expect.stringContaining("has been 11 for more than 10 min"),
    });
  });

  test("progresses, waits for blocks, or has nothing to prune yet", () => {
    const progress = trackPruning(undefined, info, 0, 100);
    const moved = trackPruning(progress, { ...info, realPruneReservedVersion: 13n }, 650_000, 190);
    expect(evaluatePruneProgress(info, moved, at(700_000, 200))).toEqual({
      isStalled: false,
      message: "Versions before 13 are pruned.",
    });
    expect(evaluatePruneProgress(info, progress, at(700_000, 100)).isStalled).toBe(false);
    const infoWithoutVersion = { ...info, realPruneReservedVersion: undefined };
    expect(
      evaluatePruneProgress(infoWithoutVersion, trackPruning(undefined, infoWithoutVersion, 0, 1), at(700_000, 5)),
    ).toMatchObject({
      isStalled: false,
      message: expect.stringContaining("prints no real_prune_reserved_version"),
    });
    const young = { ...info, flushedVersion: 5n, realPruneReservedVersion: 0n };
    expect(evaluatePruneProgress(young, trackPruning(undefined, young, 0, 1), at(700_000, 5)).message).toContain(
      "within the retained window of 100000",
    );
  });
});
