/** Times that {@link repeatForgetting} deletes at most. */
const roundsMax = 20;

/** Deletes in short steps, each of at most `together`, until one finds less; the rest is left for the next time. */
export async function repeatForgetting(forget: () => Promise<number>, together: number): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) if ((await forget()) < together) return;
}
