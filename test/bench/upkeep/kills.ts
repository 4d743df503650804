import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createFakeNode, driftedConfig, replaceByDrifted, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { startUpkeepProcess } from "../../support/upkeep-process.ts";
import { quantile, type Measurement } from "../measurement.ts";

const kills = 1_000;
/** Parallel lanes, each with its own node, because most of the time is spent starting processes. */
const lanes = 2;
/** Corrections without a kill, to measure their duration; kills happen within that time. */
const unharmed = 20;
const pollMs = 1;

type Kill = "before" | "during" | "after" | "torn" | "not repaired";

export async function measureKills(): Promise<readonly Measurement[]> {
  const found = (await Promise.all(Array.from({ length: lanes }, runLane))).flat();
  const count = (kind: Kill) => found.filter((kill) => kill === kind).length;
  const bad = count("torn") + count("not repaired");
  return [
    {
      what: "kill -9 at a random instant during a correction",
      target: `${kills} times: the file valid each time, right in the end each time`,
      measured: `${found.length} kills, ${count("torn")} torn files, ${count("not repaired")} not right after the next start`,
      isMet: found.length >= kills && bad === 0,
      how:
        `the upkeep in its own process, killed within the time that a correction takes: ${count("before")} times before it, ` +
        `${count("during")} in the middle (a temporary file was left), ${count("after")} with the new file in place`,
    },
  ];
}

async function runLane(): Promise<Kill[]> {
  await using node = await createFakeNode();
  const withinMs = await measureCorrectionMs(node);
  const desired = await node.config();
  const found: Kill[] = [];
  while (found.length < kills / lanes) {
    const upkeep = startUpkeepProcess(node, "none");
    await upkeep.right();
    if ((await node.config()) !== desired) found.push("not repaired");
    await replaceByDrifted(node);
    await sleep(Math.random() * withinMs);
    await upkeep.kill();
    found.push(await judgeKill(node, desired));
  }
  const last = startUpkeepProcess(node, "none");
  await last.right();
  if ((await node.config()) !== desired) found.push("not repaired");
  await last.kill();
  return found;
}

async function measureCorrectionMs(node: FakeNode): Promise<number> {
  const upkeep = startUpkeepProcess(node, "none");
  await upkeep.right();
  const desired = await node.config();
  const times: number[] = [];
  for (let index = 0; index < unharmed; index += 1) {
    await replaceByDrifted(node);
    const began = performance.now();
    while ((await node.config()) !== desired) await sleep(pollMs);
    times.push(performance.now() - began);
    await upkeep.right();
  }
  await upkeep.kill();
  return quantile(times, 0.5);
}

async function judgeKill(node: FakeNode, desired: string): Promise<Kill> {
  const text = await node.config();
  if (text === desired) return "after";
  if (text !== driftedConfig) return "torn";
  const names = await readdir(node.binDirectory);
  return names.some((name) => name.endsWith(".tmp")) ? "during" : "before";
}
