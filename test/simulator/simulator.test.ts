import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isLong, seed } from "../support/run-size.ts";
import { mutations } from "./mutations/mutations.ts";
import { replicasEvery } from "./world.ts";

/**
 * Number of crashes to cause, in runs with one seed each from the first on: a long run starts with a random seed, which
 * a failure reports.
 */
const crashesMin = Number(process.env["GATEHOUSE_TEST_CRASHES"] ?? 3_000);
const firstSeed = isLong ? 1_000 * seed : 1;

/** Processes that share the crashes, and the number of seeds that each may use. */
const processes = crashesMin > 10_000 ? availableParallelism() : 1;
const seedsEach = 1_000_000;

/** Generous for a busy machine: a crash takes about a millisecond. */
const timeoutMs = 60_000 + crashesMin * 30;

/** Runs a program in this directory, and returns its output, whether or not it succeeds. */
async function run(program: string, ...parameters: readonly number[]): Promise<string> {
  const call = [join(import.meta.dirname, program), ...parameters.map(String)];
  const options = { timeout: timeoutMs, maxBuffer: 2 ** 27 };
  const ended = promisify(execFile)(process.execPath, call, options);
  return (await ended.catch((error: unknown) => error as { stdout: string })).stdout;
}

/** Causes this many crashes, shared by the processes, in runs of every n-th seed; returns what each process prints. */
const causeCrashes = (crashes: number, first: number, step: number) =>
  Promise.all(
    Array.from({ length: processes }, (_, index) =>
      run("simulate.main.ts", first + index * seedsEach, Math.ceil(crashes / processes), step),
    ),
  );

test(
  `charges each delivered purchase once across ${crashesMin} crashes, with reorganizations and failing nodes`,
  async () => {
    for (const output of await causeCrashes(crashesMin, firstSeed, 1)) expect(output).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);

test.runIf(!isLong)(
  "lets one of several replicas settle at a time",
  async () => {
    for (const output of await causeCrashes(crashesMin / 2, replicasEvery, replicasEvery))
      expect(output).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);

test.concurrent.each(mutations.map((mutation, index) => [mutation.fault, index, mutation] as const))(
  "detects that %s",
  async (_, index, mutation) => {
    expect(await run("mutations/mutated.main.ts", index, mutation.firstSeed, 20_000, replicasEvery)).toMatch(
      mutation.violates,
    );
  },
  timeoutMs,
);
