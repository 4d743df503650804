import { expect, test } from "vitest";
import { simulateReplicas } from "../../testing/replica-simulation.ts";
import type { Sabotage } from "../../testing/simulated-database.ts";

/**
 * First seed and number of seeds to try, each an order of events; a failing seed is printed, and can be rerun alone as
 * the first.
 */
const firstSeed = Number(process.env["GATEHOUSE_TEST_FIRST_SEED"] ?? 1);
const seeds = Number(process.env["GATEHOUSE_TEST_SEEDS"] ?? 200);

/** Generous, for a busy machine: a run takes about 10 ms. */
const runMaxMs = 200;

/** Runs seeds one after another until one fails. */
async function findProblems(count: number, sabotage?: Sabotage): Promise<readonly string[]> {
  for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
    const { problems } = await simulateReplicas({ seed, ...(sabotage && { sabotage }) });
    if (problems.length > 0) return problems.map((problem) => `seed ${seed}, ${problem}`);
  }
  return [];
}

test(
  `one leader writes at a time and each request completes once in ${seeds} random event orders`,
  async () => {
    expect(await findProblems(seeds)).toEqual([]);
  },
  10_000 + seeds * runMaxMs,
);

test("equal seeds produce equal runs", async () => {
  expect(await simulateReplicas({ seed: 7 })).toEqual(await simulateReplicas({ seed: 7 }));
});

test.each([
  ["no guard", /was accepted in term/],
  ["no lock", /was accepted in term/],
  ["no expiry", /begins term \d+ while/],
  ["requests get lost", /requests have no end|begun for ever/],
] as const)(
  "detects a database with %s",
  async (sabotage, expected) => {
    expect((await findProblems(200, sabotage)).join("\n")).toMatch(expected);
  },
  40_000,
);
