import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** Crashes to cause, in runs with one seed each from the first on. */
const crashesMin = Number(process.env["GATEHOUSE_TEST_CRASHES"] ?? 3_000);
const firstSeed = process.env["GATEHOUSE_TEST_FIRST_SEED"] ?? "1";

/** Generous for a busy machine: a crash takes about a millisecond. */
const timeoutMs = 60_000 + crashesMin * 30;

test(
  `${crashesMin} crashes between any two steps of the money path, on a chain that forks, over nodes that fail: each purchase is charged once if delivered`,
  async () => {
    const program = join(import.meta.dirname, "simulate.main.ts");
    const run = promisify(execFile)(process.execPath, [program, firstSeed, String(crashesMin)], { timeout: timeoutMs });
    const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
    expect(stdout).toMatch(/^\d+ crashes\n$/);
  },
  timeoutMs,
);
