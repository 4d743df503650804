/**
 * Depth below the head from which a block counts as final; the specification's chain is final sooner. A head that is this far below the highest
 * one is no reorganisation.
 */
export const settledBlocks = 64;

/** Returns the number of the newest settled block below a head. Pure. */
export function findSettledBlock(head: number): number {
  return Math.max(0, head - settledBlocks);
}
