import { cpus, loadavg } from "node:os";
import { writeBenchmarksPage } from "./benchmarks-page.ts";
import type { Measurement } from "./measurement.ts";
import { readResults, writeResults } from "./results.ts";

export type RunOptions = Readonly<{
  how?: string;
  programs?: readonly string[];
}>;

/**
 * Describes the machine's load in the last minute, for {@link saveResults}; call it before the run, which adds load.
 */
export function describeLoad(): string {
  return `load average ${loadavg()[0]?.toFixed(1) ?? "unknown"} before it`;
}

/** Replaces the saved results of parts of the benchmarks, and rewrites `docs/benchmarks.md`. */
export async function saveResults(
  parts: ReadonlyMap<string, readonly Measurement[]>,
  load: string,
  { how, programs = [] }: RunOptions = {},
): Promise<void> {
  const results = await readResults();
  const machine = [
    `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`,
    `Node ${process.version}`,
    ...programs,
  ];
  for (const [part, measurements] of parts) {
    results[part] = {
      date: new Date().toISOString().slice(0, 10),
      machine: machine.join(", "),
      conditions: how === undefined ? load : `${how}, ${load}`,
      measurements: [...measurements],
    };
  }
  await writeResults(results);
  await writeBenchmarksPage();
}
