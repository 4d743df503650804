/** Depth below the head at which a block counts as final; the specification's chain finalizes sooner. A head this far below the highest one is not a reorg. */
export const settledBlocks = 64;

export function findSettledBlock(head: number): number {
  return Math.max(0, head - settledBlocks);
}
