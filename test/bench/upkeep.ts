import { readFile, writeFile } from "node:fs/promises";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#sidecar/testing/until.ts";
import { startDevnetWorkspace } from "../support/devnet-workspace.ts";

/** What was measured, how, and the target of issue 4. */
type Row = Readonly<{ what: string; measured: string; target: string; how: string }>;

const drifts = 200;
const restarts = 9;
const passes = 10_000;
const conflictingWrites = 10_000;
const idleMs = 20_000;
const driftGapMs = 250;

process.stdout.write(`Upkeep of a node (node ${process.version})\n`);
await onFile(correction);
await onFile(idle);
await onFile(memory);
await restartsOfDevnet();
await conflict();

/** Runs a measurement on a workspace whose node is never restarted. */
async function onFile(measure: (node: FakeNode, upkeep: RunningUpkeep, desired: string) => Promise<void>) {
  await using node = await createFakeNode();
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "desired",
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "1000",
  });
  await upkeep.reason("ConfigCurrent", "AsDesired");
  await measure(node, upkeep, await node.config());
}

async function correction(node: FakeNode, _: RunningUpkeep, desired: string): Promise<void> {
  const times: number[] = [];
  for (let index = 0; index < drifts; index += 1) {
    await writeFile(node.configPath, desired.replace('"desired"', `"drift-${index}"`));
    const began = performance.now();
    await until(node.config, (text) => text === desired);
    times.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, driftGapMs));
  }
  const p99 = quantile(times, 0.99).toFixed(0);
  const how = `${drifts} writes, ${driftGapMs} ms apart, each followed by reading the file every 10 ms`;
  print({ what: "drift corrected on disk, p99", measured: `${p99} ms`, target: "< 300 ms", how });
}

async function idle(): Promise<void> {
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const { user, system } = process.cpuUsage(before);
  const percent = ((user + system) / 1_000 / idleMs) * 100;
  const how = `${idleMs / 1_000} s of a process with one upkeep, health asked each second`;
  print({ what: "CPU when nothing changes", measured: `${percent.toFixed(2)} %`, target: "< 1 %", how });
}

async function memory(_: FakeNode, { upkeep, metrics }: RunningUpkeep): Promise<void> {
  const count = async () =>
    Number((await metrics.getSingleMetric("gatehouse_upkeep_passes_total")?.get())?.values[0]?.value ?? 0);
  const from = await count();
  const reach = async (target: number) => {
    while ((await count()) - from < target) {
      upkeep.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    globalThis.gc?.();
    return process.memoryUsage.rss() / 2 ** 20;
  };
  const first = await reach(passes / 10);
  const last = await reach(passes);
  const growth = ((last - first) / first) * 100;
  const measured = `${last.toFixed(0)} MB, growth ${growth.toFixed(1)} %`;
  const how = `resident set after ${passes / 10} and ${passes} passes, in the bench's own process`;
  print({ what: "memory after 10,000 reconciles", measured, target: "< 100 MB, < 5 %", how });
}

async function restartsOfDevnet(): Promise<void> {
  await using node = await startDevnetWorkspace("0.16.2");
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "3600",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  });
  const back = () => upkeep.events.list().find(({ message }) => message.startsWith("The node is back"))?.at;
  await until(back, (at) => at !== undefined, 30_000);
  await upkeep.reason("AutoPruneOn", "On", 30_000);
  const times: number[] = [];
  for (let index = 0; index < restarts; index += 1) {
    await upkeep.reason("RestartSettled", "Idle", 30_000);
    const before = back();
    const began = performance.now();
    const text = await readFile(node.configPath, "utf8");
    await writeFile(node.configPath, text.replace('"storage_enable_cetina": true', '"storage_enable_cetina": false'));
    await until(back, (at) => at !== before, 30_000);
    times.push(performance.now() - began);
  }
  const how = `${restarts} drifts of a devnet node (blocks each 0.5 s), until its height advanced again`;
  const measured = `${quantile(times, 0.5).toFixed(0)} ms`;
  print({ what: "drift corrected, restarted, healthy, median", measured, target: "< 2000 ms", how });
}

async function conflict(): Promise<void> {
  await using node = await createFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "ours" });
  await until(
    () => upkeep.board.get("RestartSettled")?.reason,
    (reason) => reason === "Idle",
  );
  await upkeep.reason("ConfigCurrent", "AsDesired");
  const ours = await node.config();
  const from = await node.starts();
  for (let index = 0; index < conflictingWrites; index += 1) {
    await writeFile(node.configPath, ours.replace('"ours"', `"theirs-${index}"`));
  }
  const condition = await upkeep.reason("SoleWriter", "Contested", 30_000);
  const measured = `${(await node.starts()) - from} restarts; ${condition.message.slice(0, 60)}…`;
  const how = `${conflictingWrites} writes without a pause, budget 6`;
  print({ what: "10,000 conflicting writes", measured, target: "<= budget, a condition", how });
}

function print({ what, measured, target, how }: Row): void {
  process.stdout.write(`${what}: ${measured} (target ${target}; ${how})\n`);
}

function quantile(times: readonly number[], q: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}
