import { parseArgs } from "node:util";
import type { Measurement } from "./measurement.ts";
import { describeLoad, saveResults } from "./save-results.ts";

type Measured = ReadonlyMap<string, readonly Measurement[]>;

/**
 * Runs all sections of the benchmark, or the one in the first argument; further arguments select its parts, e.g. `npm
 * run bench -- upkeep kills`. `--save` writes the verdicts into `docs/benchmarks.md`.
 */
const sections: Readonly<Record<string, (parts: readonly string[]) => Promise<Measured>>> = {
  upkeep: async (parts) => (await import("./upkeep/upkeep.ts")).measureUpkeep(parts),
  infra: async () => (await import("./infra.ts")).measureProgram(),
  deployment: async () => (await import("./deployment.ts")).measureDeployment(),
};

const { values, positionals } = parseArgs({
  options: { save: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [chosen, ...parts] = positionals;
if (chosen !== undefined && sections[chosen] === undefined) {
  process.stderr.write(`bench: there is no section "${chosen}"; there are ${Object.keys(sections).join(", ")}.\n`);
  process.exit(1);
}
const load = describeLoad();
for (const [name, run] of Object.entries(sections)) {
  if (chosen !== undefined && chosen !== name) continue;
  const measured = await run(parts);
  if (values.save) await saveResults(measured, load);
}
