import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { mutations, type Mutation } from "./mutations.ts";

type Result = Readonly<{ mutation: Mutation; crashes: string; noticed: string | undefined }>;

/** Max number of crashes until a fault must be detected. */
const [crashesMax = "10000", ...words] = process.argv.slice(2);
const timeoutMs = 60_000 + Number(crashesMax) * 100;

function run(mutation: Mutation): Promise<Result> {
  const { first, step } = mutation.seeds;
  const program = join(import.meta.dirname, "mutated.main.ts");
  const call = [program, String(mutations.indexOf(mutation)), String(first), crashesMax, String(step)];
  return new Promise((resolve) => {
    execFile(process.execPath, call, { timeout: timeoutMs, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const crashes = /^(\d+) crashes$/m.exec(stdout)?.[1] ?? "?";
      const problem = /BROKEN: (.*)/.exec(stdout)?.[1] ?? /^\w*Error.*$/m.exec(stderr)?.[0];
      resolve({ mutation, crashes, noticed: problem ?? (error === null ? undefined : error.message) });
    });
  });
}

/** Returns an invariant's name, without the payment that violated it. */
const shorten = (problem: string) => problem.replace(/[0-9a-f]{40} 0x[0-9a-f]{64} \d+/g, "a payment");

const chosenMutations = mutations.filter(({ fault }) => words.every((word) => fault.includes(word))).values();
const work = async () => {
  for (const mutation of chosenMutations) {
    const { fault, unnoticed } = mutation;
    const { crashes, noticed } = await run(mutation);
    const isExpected = (noticed === undefined) === (unnoticed !== undefined);
    if (!isExpected) process.exitCode = 1;
    const what = noticed === undefined ? `not detected: ${unnoticed ?? "WHY?"}` : shorten(noticed);
    process.stdout.write(`| ${fault} | ${what} | ${crashes} |\n`);
  }
};
process.stdout.write("| fault | detected by | after crashes |\n| --- | --- | --- |\n");
await Promise.all(Array.from({ length: availableParallelism() }, work));
