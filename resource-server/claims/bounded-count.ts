/** A count that takes less, in milliseconds, is taken anew each time. */
const shortMs = 20;
/** Share of the time that counts may take. */
const countingPart = 1 / 50;

/**
 * Wraps a count over the ledger, which takes longer the more the ledger has: returns the last result until counting again keeps to its
 * share of the time.
 */
export function boundCount<T>(
  count: () => Promise<T>,
  nowMs: () => number = () => performance.now(),
): () => Promise<T> {
  let last: Readonly<{ result: T; until: number }> | undefined;
  return async () => {
    const beganMs = nowMs();
    if (last !== undefined && beganMs < last.until) return last.result;
    const result = await count();
    const tookMs = nowMs() - beganMs;
    last = { result, until: tookMs < shortMs ? 0 : nowMs() + tookMs / countingPart };
    return result;
  };
}

/** Times that {@link repeatForgetting} deletes at most. */
const roundsMax = 20;

/** Deletes in short steps, each of at most `together`, until one finds less; the rest is left for the next time. */
export async function repeatForgetting(forget: () => Promise<number>, together: number): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) if ((await forget()) < together) return;
}
