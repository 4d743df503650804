import { isDeepStrictEqual } from "node:util";
import { simulate, type Run } from "./simulation.ts";

/**
 * Runs one seed after another until the number of crashes is reached; exits with status 1 at the first run that violates an invariant, and
 * prints that run's events. Runs in a separate process, because the test runner loads modules in real time, whereas here only virtual time
 * passes.
 */
const [firstSeed = "1", crashesMin = "1", step = "1"] = process.argv.slice(2);
const write = (text: string) => process.stdout.write(`${text}\n`);

function describe({ seed, problems, steps, weather }: Run): string {
  const again = `again: node test/simulator/simulate.main.ts ${seed}`;
  return [`seed ${seed}, ${again}`, JSON.stringify(weather), ...steps, ...problems].join("\n");
}

let crashes = 0;
let seed = Number(firstSeed);
for (; crashes < Number(crashesMin) && process.exitCode === undefined; seed += Number(step)) {
  const run = await simulate(seed);
  crashes += run.crashes;
  if (run.problems.length > 0) process.exitCode = 1;
  if (process.exitCode !== undefined) write(describe(run));
}
if (process.exitCode === undefined && !isDeepStrictEqual(await simulate(seed), await simulate(seed))) {
  process.exitCode = 1;
  write(`seed ${seed} gives different runs each time`);
}
write(`${crashes} crashes`);
