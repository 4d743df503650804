import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { tokenAddress } from "#devnet/token/address.ts";
import { printMeasurement, type Measurement } from "./measurement.ts";
import { describeLoad, saveResults } from "./save-results.ts";

const runs = 5;
const root = join(import.meta.dirname, "../..");
const project = parse(readFileSync(join(root, "Pulumi.yaml"), "utf8")) as {
  runtime: { options: { nodeargs: string } };
};
const nodeArguments = project.runtime.options.nodeargs.split(" ");
const targetMs = 2_000;
const digest = `sha256:${"a".repeat(64)}`;
const shared = { devAccounts: "true", tokenAddress };
const stacks: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  docker: { ...shared, dockerEngine: "tcp://engine.example:2376" },
  kubernetes: {
    ...shared,
    target: "kubernetes",
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
  },
};

/**
 * Measures how long the Pulumi program itself takes, in a fresh process each time, started as by Pulumi; its CPU time
 * is valid even on a busy machine. The first run, which may lack a compile cache, is not counted. `--save` writes the
 * verdicts into `docs/benchmarks.md`.
 */
const { values } = parseArgs({ options: { save: { type: "boolean", default: false } } });
const load = describeLoad();
process.stdout.write(`The Pulumi program's own run, ${runs} times each (Node ${process.version})\n`);
const measurements = Object.entries(stacks).map(([target, config]) => measureTarget(target, config));
for (const measurement of measurements) printMeasurement(measurement);
if (values.save) await saveResults(new Map([["deployment: program", measurements]]), load);

function measureTarget(target: string, config: Readonly<Record<string, string>>): Measurement {
  const program = join(import.meta.dirname, "infra-program.main.ts");
  let [resources, cpuMs] = [0, Number.POSITIVE_INFINITY];
  const run = () =>
    execFileSync(process.execPath, [...nodeArguments, program, JSON.stringify(config)], {
      encoding: "utf8",
      cwd: root,
    });
  run();
  const times = Array.from({ length: runs }, () => {
    const startedAt = performance.now();
    const told = run();
    const [count = 0, cpu = 0] = told.split(" ").map(Number);
    [resources, cpuMs] = [count, Math.min(cpuMs, cpu)];
    return performance.now() - startedAt;
  }).toSorted((a, b) => a - b);
  const medianMs = Math.round(times[Math.floor(runs / 2)] ?? Number.NaN);
  return {
    what: `the Pulumi program's own run for ${target}, ${resources} resources`,
    target: `< ${targetMs} ms`,
    measured: `median ${medianMs} ms, CPU at least ${Math.round(cpuMs)} ms`,
    isMet: medianMs < targetMs,
    how: `${runs} runs, a new process each`,
  };
}
