import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { tokenAddress } from "#devnet/token/address.ts";

/**
 * Prints how long the Pulumi program itself takes, a fresh process each time, started as Pulumi starts it, and its target; `cpuMs`
 * holds on a busy machine too. The first run, which may find no compile cache, is not counted.
 */
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

const rows = Object.entries(stacks).map(([target, config]) => {
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
  const fastestMs = Math.round(times[0] ?? Number.NaN);
  return {
    target,
    resources,
    cpuMs,
    fastestMs,
    medianMs,
    targetMs,
    "median / target": Number((medianMs / targetMs).toFixed(2)),
  };
});
process.stdout.write(`The Pulumi program's own run, ${runs} times each (Node ${process.version})\n`);
for (const row of rows) {
  const cells = Object.entries(row).map(([key, value]) => `${key}: ${value}`);
  process.stdout.write(`  ${cells.join(", ")}\n`);
}
