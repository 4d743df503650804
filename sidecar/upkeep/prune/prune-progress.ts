import type { PruneInfo } from "#node/prune-info.ts";

/** Progress of pruning, and the chain's height when pruning last advanced. A plain value, replaced at each query. */
export type PruneProgress = Readonly<{
  reserved: bigint | undefined;
  /** Time (monotonic) at which pruning last advanced, or at which progress was first observed. */
  sinceMs: number;
  /** Height of the chain at that time. */
  sinceHeight: number | undefined;
}>;

/** Tracks the pruned version across PruneInfo readings. Pure. */
export function followPruning(
  before: PruneProgress | undefined,
  info: PruneInfo,
  nowMs: number,
  height: number | undefined,
): PruneProgress {
  const reserved = info.realPruneReservedVersion;
  if (before !== undefined && before.reserved === reserved) return before;
  return { reserved, sinceMs: nowMs, sinceHeight: height };
}

/** Progress of enabled pruning. `isStalled`: it hasn't advanced for a while although new blocks arrived. */
export type PruneAdvance = Readonly<{ isStalled: boolean; message: string }>;

/** Describes how far enabled pruning is. On a young chain whose blocks are all within the reserved window, there is nothing to prune yet. Pure. */
export function evaluatePruneProgress(
  info: PruneInfo,
  progress: PruneProgress,
  { nowMs, height, stalledAfterMs }: Readonly<{ nowMs: number; height: number | undefined; stalledAfterMs: number }>,
): PruneAdvance {
  const { reserved, sinceHeight, sinceMs } = progress;
  if (reserved === undefined) {
    const message = "node_cli prune --get prints no real_prune_reserved_version, which would show how far pruning is.";
    return { isStalled: false, message };
  }
  const blocks = height === undefined || sinceHeight === undefined ? 0 : height - sinceHeight;
  const { flushedVersion, reservedWindow } = info;
  const isYoung = flushedVersion !== undefined && reservedWindow !== undefined && flushedVersion <= reservedWindow;
  if (isYoung && reserved === 0n) {
    const message = `The chain is at version ${flushedVersion}, within the retained window of ${reservedWindow}.`;
    return { isStalled: false, message };
  }
  if (nowMs - sinceMs < stalledAfterMs || blocks <= 0) {
    return { isStalled: false, message: `Versions before ${reserved} are pruned.` };
  }
  const time = stalledAfterMs < 120_000 ? `${stalledAfterMs / 1_000} s` : `${Math.round(stalledAfterMs / 60_000)} min`;
  const message =
    `Auto-pruning is on, but real_prune_reserved_version has been ${reserved} for more than ${time} while ` +
    `blocks advanced; check the node's log and its disk, then restart it.`;
  return { isStalled: true, message };
}
