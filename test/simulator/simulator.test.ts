import { expect, test } from "vitest";
import { simulate, type Run } from "./simulation.ts";

/** Crashes to cause, in runs with one seed each from the first on. A run that breaks an invariant prints its seed; run that alone. */
const crashesMin = Number(process.env["GATEHOUSE_TEST_CRASHES"] ?? 4_000);
const firstSeed = Number(process.env["GATEHOUSE_TEST_FIRST_SEED"] ?? 1);

/** Generous for a busy machine: a crash takes about a millisecond. */
const crashMaxMs = 30;

/** Tells what happened in a run in which something is wrong, and how to see it again; empty if nothing is. */
function describe({ seed, problems, steps, weather }: Run): string {
  if (problems.length === 0) return "";
  const again = `GATEHOUSE_TEST_FIRST_SEED=${seed} GATEHOUSE_TEST_CRASHES=1 npx vitest run --project unit test/simulator`;
  return [`seed ${seed}, again: ${again}`, JSON.stringify(weather), ...steps, ...problems].join("\n");
}

test(
  `${crashesMin} crashes between any two steps of the money path, on a chain that forks, over nodes that fail: each purchase is charged once if delivered`,
  async () => {
    let crashes = 0;
    for (let seed = firstSeed; crashes < crashesMin; seed += 1) {
      const run = await simulate(seed);
      crashes += run.crashes;
      expect(describe(run)).toBe("");
    }
  },
  60_000 + crashesMin * crashMaxMs,
);

test("equal seeds give equal runs", async () => {
  expect(await simulate(firstSeed)).toEqual(await simulate(firstSeed));
});
