import { describe, expect, test } from "vitest";
import type { PruneInfo } from "#node/prune-info.ts";
import { followPruning, buildPruneCondition } from "./prune-progress.ts";

const info: PruneInfo = {
  autoPrune: true,
  reservedWindow: 100_000n,
  pruneReservedVersion: 12n,
  flushedVersion: 18_446_744_073_709_551_615n,
  realPruneReservedVersion: 11n,
};

const at = (nowMs: number, height: number) => ({ nowMs, height, stalledAfterMs: 600_000 });

describe("pruning that is on", () => {
  test("is stalled when blocks come and it does not move", () => {
    const progress = followPruning(undefined, info, 0, 100);
    expect(followPruning(progress, info, 500_000, 200)).toBe(progress);
    expect(buildPruneCondition(info, progress, at(700_000, 200))).toMatchObject({
      status: "False",
      reason: "PruningStalled",
    });
  });

  test("advances, waits for blocks, or has nothing to prune yet", () => {
    const progress = followPruning(undefined, info, 0, 100);
    const moved = followPruning(progress, { ...info, realPruneReservedVersion: 13n }, 650_000, 190);
    expect(buildPruneCondition(info, moved, at(700_000, 200)).reason).toBe("Advancing");
    expect(buildPruneCondition(info, progress, at(700_000, 100)).reason).toBe("Advancing");
    const silent = { ...info, realPruneReservedVersion: undefined };
    expect(buildPruneCondition(silent, followPruning(undefined, silent, 0, 1), at(700_000, 5))).toMatchObject({
      status: "Unknown",
      reason: "NotReported",
    });
    const young = { ...info, flushedVersion: 5n, realPruneReservedVersion: 0n };
    expect(buildPruneCondition(young, followPruning(undefined, young, 0, 1), at(700_000, 5)).reason).toBe(
      "NothingToPrune",
    );
  });
});
