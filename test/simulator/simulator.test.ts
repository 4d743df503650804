import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isLong, seed } from "../support/run-size.ts";
import { mutateText, mutations } from "./mutations/mutations.ts";

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

test(
  `${crashesMin} crashes between any two steps of the money path, on a chain that forks, over nodes that fail: each purchase is charged once if delivered`,
  async () => {
    const share = Math.ceil(crashesMin / processes);
    const starts = Array.from({ length: processes }, (_, index) => firstSeed + index * seedsEach);
    const outputs = await Promise.all(starts.map((start) => run("simulate.main.ts", start, share)));
    for (const output of outputs) expect(output).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);

test.each(mutations)("the fault that $fault can still be put into $file", (mutation) => {
  const path = join(import.meta.dirname, "../..", mutation.file);
  expect(mutateText(mutation, readFileSync(path, "utf8"))).not.toBe("");
});

test.runIf(isLong)(
  "each of these faults is noticed, or known to make no difference",
  async () => {
    expect(await run("mutations/table.main.ts", 10_000)).not.toContain("WHY?");
  },
  timeoutMs,
);
