/**
 * Whether this is `npm run test:long` (vitest.config.ts sets the variable for its projects), which does everything that
 * `npm test` samples.
 */
export const isLong = process.env["GATEHOUSE_TEST_LONG"] === "yes";

/** Seed of random input and random choices; a test prints it with its failure, and the same seed repeats the run. */
export const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);

/**
 * Returns the whole list in a long run; otherwise every n-th item, chosen by the seed, so that each is used over time.
 *
 * @param one share of the list in a short run: 3 means a third.
 */
export function takeSlice<Item>(items: readonly Item[], one: number): readonly Item[] {
  return isLong ? items : items.filter((_, at) => at % one === seed % one);
}
