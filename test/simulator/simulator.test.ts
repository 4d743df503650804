import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isLong, seed } from "../support/run-size.ts";
import { mutateText, mutations } from "./mutations/mutations.ts";
import { replicasEvery } from "./world.ts";

/**
 * Number of crashes to cause, in runs with one seed each, starting at the first seed; a long run starts at a random seed, which a failure
 * reports. A third of the crashes are in runs with several replicas; a long run mixes these with the others.
 */
const crashesMin = Number(process.env["GATEHOUSE_TEST_CRASHES"] ?? 1_000);
const crashesOfReplicas = isLong ? 0 : Math.ceil(crashesMin / 3);
const firstSeed = isLong ? 1_000 * seed : 1;

/** Number of processes among which the crashes are split, and max seeds per process. */
const processes = crashesMin > 10_000 ? availableParallelism() : 1;
const seedsEach = 1_000_000;

/** Generous for a busy machine: a crash takes about a millisecond. */
const timeoutMs = 60_000 + crashesMin * 30;

/** Runs a program in this directory, and returns its output, whether or not it succeeds. */
async function run(program: string, ...parameters: readonly number[]): Promise<string> {
  // The stack traces of simulated faults are not read, and take a tenth of the time.
  const call = ["--stack-trace-limit=0", join(import.meta.dirname, program), ...parameters.map(String)];
  const options = { timeout: timeoutMs, maxBuffer: 2 ** 27 };
  const ended = promisify(execFile)(process.execPath, call, options);
  return (await ended.catch((error: unknown) => error as { stdout: string })).stdout;
}

/** Causes this many crashes, shared by the processes, in runs of the given seeds; returns what each process prints. */
const causeCrashes = (crashes: number, seeds: readonly Readonly<{ first: number; step: number }>[]) =>
  Promise.all(seeds.map(({ first, step }) => run("simulate.main.ts", first, Math.ceil(crashes / processes), step)));

test(
  `charges each delivered purchase once across ${crashesMin - crashesOfReplicas} crashes, with reorganizations and failing nodes`,
  async () => {
    const seeds = Array.from({ length: processes }, (_, index) => ({ first: firstSeed + index * seedsEach, step: 1 }));
    for (const output of await causeCrashes(crashesMin - crashesOfReplicas, seeds))
      expect(output).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);

test.runIf(!isLong)(
  `lets one of several replicas settle at a time across ${crashesOfReplicas} crashes`,
  async () => {
    const seeds = Array.from({ length: processes }, (_, index) => ({
      first: processes * seedsEach + (index + 1) * replicasEvery,
      step: processes * replicasEvery,
    }));
    for (const output of await causeCrashes(crashesOfReplicas, seeds)) expect(output).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);

/** Faults, the first seed to try, and the invariant that they violate. */
const sabotage = [
  ["a leader writes after its term", 50, /was accepted in term/],
  ["another term begins between a leader's check and its writes", 230, /was accepted in term/],
  ["a replica acquires the lease of another", 5, /begins term \d+ on \d+ while/],
  ["a request that has waited for a second is lost", 15, /have no end|in flight for ever/],
] as const;

test.concurrent.each(sabotage)(
  "detects that %s",
  async (fault, start, expected) => {
    const index = mutations.findIndex((mutation) => mutation.fault === fault);
    expect(await run("mutations/mutated.main.ts", index, start, 20_000, replicasEvery)).toMatch(expected);
  },
  timeoutMs,
);

test.each(mutations)("applies the mutation of $file: $fault", (mutation) => {
  const path = join(import.meta.dirname, "../..", mutation.file);
  expect(mutateText(mutation, readFileSync(path, "utf8"))).not.toBe("");
});

test.runIf(isLong)(
  "detects every mutation that is not listed as undetectable",
  async () => {
    expect(await run("mutations/table.main.ts", 10_000)).not.toContain("WHY?");
  },
  timeoutMs,
);
