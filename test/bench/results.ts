import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";

const runSchema = z.strictObject({
  /** Day of the run, e.g. 2026-11-23. */
  date: z.iso.date(),
  machine: z.string(),
  conditions: z.string(),
  measurements: z.array(
    z.strictObject({
      what: z.string(),
      target: z.string(),
      measured: z.string(),
      isMet: z.boolean(),
      how: z.string().optional(),
    }),
  ),
});

const resultsSchema = z.record(z.string(), runSchema);

/** The last saved run of each part of the benchmarks, by the part's name. */
export type Results = z.infer<typeof resultsSchema>;

const resultsFile = new URL("results.json", import.meta.url);

export async function readResults(): Promise<Results> {
  return resultsSchema.parse(JSON.parse(await readFile(resultsFile, "utf8")));
}

export async function writeResults(results: Results): Promise<void> {
  await writeFile(resultsFile, `${JSON.stringify(results, undefined, 2)}\n`);
}
