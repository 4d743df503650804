/**
 * Whether this is `npm run test:long` (vitest.config.ts sets the variable for its projects), which does everything that
 * `npm test` samples.
 */
export const isLong = process.env["GATEHOUSE_TEST_LONG"] === "yes";

/** Seed of random input and random choices; a test prints it with its failure, and the same seed repeats the run. */
export const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);

/**
 * The whole of a list in a long run; otherwise every n-th of its items, chosen by the seed, so that each runs on some
 * day.
 *
 * @param one Which share of the list a short run takes: 3 takes a third.
 */
export function takeSlice<Item>(items: readonly Item[], one: number): readonly Item[] {
  return isLong ? items : items.filter((_, at) => at % one === seed % one);
}
