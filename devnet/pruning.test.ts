import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { retainedStatesMax } from "./anvil/anvil-process.ts";
import { openPruning, buildPruneInfo } from "./pruning.ts";

async function directory(): Promise<string> {
  const path = await makeTestDirectory();
  return path;
}

describe("pruning", () => {
  test("advances all three versions with the blocks and keeps them in order", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: 1, max: 1_000_000 }), (enabledAtBlock, blocks) => {
        const before = buildPruneInfo({ enabledAtBlock }, enabledAtBlock + blocks - 1);
        const after = buildPruneInfo({ enabledAtBlock }, enabledAtBlock + blocks);
        expect(after.flushed_version).toBeGreaterThan(before.flushed_version);
        expect(after.prune_reserved_version).toBeGreaterThan(before.prune_reserved_version);
        expect(after.real_prune_reserved_version).toBeGreaterThan(before.real_prune_reserved_version);
        expect(after.real_prune_reserved_version).toBeLessThanOrEqual(after.prune_reserved_version);
        expect(after.flushed_version - after.prune_reserved_version).toBe(after.auto_prune_reserved_window);
      }),
    );
  });

  test("reserves as many blocks as the chain keeps states", () => {
    const [before, after] = [
      buildPruneInfo({ enabledAtBlock: 0 }, 1_000),
      buildPruneInfo({ enabledAtBlock: 0 }, 1_001),
    ];
    const versionsPerBlock = after.flushed_version - before.flushed_version;
    expect(before.auto_prune_reserved_window / versionsPerBlock).toBe(retainedStatesMax);
  });

  test("keeps everything while disabled", () => {
    expect(buildPruneInfo({ enabledAtBlock: undefined }, 500)).toEqual({
      enable_auto_prune: 0,
      auto_prune_reserved_window: 100_000,
      prune_reserved_version: 0,
      flushed_version: 500_000,
      real_prune_reserved_version: 0,
    });
  });

  test("catches up at a limited rate when enabled late", () => {
    expect(buildPruneInfo({ enabledAtBlock: 5_000 }, 5_000).real_prune_reserved_version).toBe(0);
    expect(buildPruneInfo({ enabledAtBlock: 5_000 }, 5_003).real_prune_reserved_version).toBe(2_400_000);
    expect(buildPruneInfo({ enabledAtBlock: 5_000 }, 5_010).real_prune_reserved_version).toBe(4_008_000);
  });

  test("stays enabled across restarts, counting from the block of its first activation", async () => {
    const path = await directory();
    let head = 7;
    const first = await openPruning(path, () => head);
    expect(first.info().enable_auto_prune).toBe(0);
    await first.enable();
    head = 9;
    await first.enable();
    const second = await openPruning(path, () => 9);
    expect(second.info()).toEqual(first.info());
    expect(second.info()).toEqual(buildPruneInfo({ enabledAtBlock: 7 }, 9));
  });
});
