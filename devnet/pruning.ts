import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { retainedStatesMax } from "./anvil/anvil-process.ts";

/** Number of versions behind the newest that pruning retains (specification, "PruneInfo"). */
const reservedWindowVersions = 100_000;

/** Versions per block, chosen so that the window covers exactly the blocks whose states the chain retains. */
const versionsPerBlock = reservedWindowVersions / retainedStatesMax;

/** Max versions that the pruner removes per mined block when it has fallen behind: those of 1,000 blocks. */
const prunedVersionsPerBlockMax = 1_000 * versionsPerBlock;

export type PruneInfo = Readonly<{
  enable_auto_prune: 0 | 1;
  auto_prune_reserved_window: number;
  prune_reserved_version: number;
  flushed_version: number;
  real_prune_reserved_version: number;
}>;

/** Block at which auto-pruning was enabled; undefined if it never was. No command disables it. */
export type PruneState = Readonly<{ enabledAtBlock: number | undefined }>;

/**
 * Builds a devnet node's pruning info at a block. Each block counts as {@link versionsPerBlock} storage versions, on top of the genesis's
 * 100,000. All three version numbers therefore advance from the first block on. Everything older than the reserved window is due for
 * removal (`prune_reserved_version`); the pruner follows at a limited speed (`real_prune_reserved_version`).
 */
export function buildPruneInfo({ enabledAtBlock }: PruneState, block: number): PruneInfo {
  const flushed = reservedWindowVersions + block * versionsPerBlock;
  const reserved = enabledAtBlock === undefined ? 0 : flushed - reservedWindowVersions;
  const blocksSince = enabledAtBlock === undefined ? 0 : Math.max(0, block - enabledAtBlock);
  return {
    enable_auto_prune: enabledAtBlock === undefined ? 0 : 1,
    auto_prune_reserved_window: reservedWindowVersions,
    prune_reserved_version: reserved,
    flushed_version: flushed,
    real_prune_reserved_version: Math.min(reserved, blocksSince * prunedVersionsPerBlockMax),
  };
}

export type Pruning = Readonly<{
  info(): PruneInfo;
  /** Enables auto-pruning permanently; persisted to disk before this returns. */
  enable(): Promise<void>;
}>;

const stateSchema = z.object({ enabledAtBlock: z.int().min(0) });

/** Restores the state that an earlier run of the node saved in `meta_path`. */
export async function openPruning(metaDirectory: string, head: () => number): Promise<Pruning> {
  const path = join(metaDirectory, "auto-prune.json");
  let state: PruneState = await readState(path);
  return {
    info: () => buildPruneInfo(state, head()),
    async enable() {
      if (state.enabledAtBlock !== undefined) return;
      const next = { enabledAtBlock: head() };
      await replaceFile(path, JSON.stringify(next));
      state = next;
    },
  };
}

async function readState(path: string): Promise<PruneState> {
  const text = await readFile(path, "utf8").catch(skipMissing);
  return text === undefined ? { enabledAtBlock: undefined } : stateSchema.parse(JSON.parse(text));
}
