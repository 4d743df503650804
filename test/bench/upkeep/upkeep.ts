import { cpus } from "node:os";
import { measureConflict } from "./conflict.ts";
import { measureCorrection } from "./correction.ts";
import { measureIdle } from "./idle.ts";
import { measureKills } from "./kills.ts";
import { printMeasurement, type Measurement } from "../measurement.ts";
import { measureMemory } from "./memory.ts";
import { measureProbes } from "./probes.ts";
import { measureRestart } from "./restart.ts";

const measurements: Readonly<Record<string, () => Promise<readonly Measurement[]>>> = {
  correction: measureCorrection,
  restart: measureRestart,
  idle: measureIdle,
  probes: measureProbes,
  memory: measureMemory,
  kills: measureKills,
  conflict: measureConflict,
};

export async function measureUpkeep(parts: readonly string[]): Promise<ReadonlyMap<string, readonly Measurement[]>> {
  const unknown = parts.find((part) => measurements[part] === undefined);
  if (unknown !== undefined) {
    throw new Error(`upkeep has no part "${unknown}"; there are ${Object.keys(measurements).join(", ")}`);
  }
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`;
  process.stdout.write(`\nUpkeep of a node (Node ${process.version}, ${machine})\n`);
  const measured = new Map<string, readonly Measurement[]>();
  for (const [part, measure] of Object.entries(measurements)) {
    if (parts.length > 0 && !parts.includes(part)) continue;
    const results = await measure();
    for (const measurement of results) printMeasurement(measurement);
    measured.set(`upkeep: ${part}`, results);
  }
  return measured;
}
