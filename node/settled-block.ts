/** A block this far below the head is taken to be the same for good, and a head this far below the highest one is no reorganisation; the specification's chain is final sooner. */
export const settledBlocks = 64;

/** The number of the newest settled block below a head. Pure. */
export function findSettledBlock(head: number): number {
  return Math.max(0, head - settledBlocks);
}
