import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { keptStates } from "./anvil/chain-snapshot.ts";

/** Versions behind the newest that pruning keeps (specification, "PruneInfo"). */
const reservedWindowVersions = 100_000;

/** Versions that a block makes: so many that the window holds the blocks whose states the chain keeps, and no other. */
const versionsPerBlock = reservedWindowVersions / keptStates;

/** Versions that the pruner removes at most while one block is made, when it has fallen behind: those of 1,000 blocks. */
const prunedVersionsPerBlockMax = 1_000 * versionsPerBlock;

/** Output of `node_cli prune --get`. */
export type PruneInfo = Readonly<{
  enable_auto_prune: 0 | 1;
  auto_prune_reserved_window: number;
  prune_reserved_version: number;
  flushed_version: number;
  real_prune_reserved_version: number;
}>;

/** Block since which auto-pruning is on; undefined if it never was. No command turns it off. */
export type PruneState = Readonly<{ enabledAtBlock: number | undefined }>;

/**
 * Builds a devnet node's pruning at a block. Each block is {@link versionsPerBlock} versions of the storage, counted from the
 * 100,000 that the genesis takes, so that all three version numbers advance with the blocks from the first one on: everything
 * older than the reserved window is to go (`prune_reserved_version`), and the pruner follows at a bounded speed
 * (`real_prune_reserved_version`).
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

/** The pruning of a running node. */
export type Pruning = Readonly<{
  info(): PruneInfo;
  /** Turns auto-pruning on, for good: it is on disk when this returns. */
  enable(): Promise<void>;
}>;

const stateSchema = z.object({ enabledAtBlock: z.int().min(0) });

/** Reads the state that an earlier run of the node left in `meta_path`, and goes on from there. */
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
