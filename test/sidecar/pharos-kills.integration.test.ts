import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createFakeNode, desiredConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { findPharosProcesses } from "#sidecar/testing/fake-node-files.ts";
import { until } from "#daemon/testing/until.ts";
import { createRandom } from "../support/seeded-random.ts";
import { isLong, seed } from "../support/run-size.ts";
import { startUpkeepProcess, type UpkeepProcess } from "../support/upkeep-process.ts";
import { findVictims, isAt, kills, listRuns, observeBefore, type Kill } from "./pharos-kills/instants.ts";

const count = isLong ? 200 : 3;

/** Nodes killed concurrently on one machine; each test mostly waits. */
const nodesAtOnce = isLong ? 4 : 3;

/** Max time from an instant to its kill. */
const spreadMs = 150;
const settledWithinMs = 60_000;

/** Slows `ops` down, so that it can be killed while it runs. */
async function slowOps({ programs }: FakeNode): Promise<void> {
  await rename(programs.ops, `${programs.ops}-itself`);
  await writeFile(programs.ops, `#!/bin/sh\nsleep 0.1\n./ops-itself "$@"\nstatus=$?\nsleep 0.1\nexit $status\n`, {
    mode: 0o755,
  });
}

/** Monitors how many processes at once run a node below a directory, until it is disposed of. */
function watchOverlap(node: FakeNode) {
  const stop = new AbortController();
  let most = 0;
  const watching = (async () => {
    while (!stop.signal.aborted) {
      most = Math.max(most, findPharosProcesses(basename(node.programs.node), node.workspace).length);
      await sleep(10);
    }
  })();
  return {
    most: () => most,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watching;
    },
  };
}

/** Waits until nothing is left to do. Like an operator, resumes a paused sidecar, and restarts a node that was killed after its restart. */
async function settle(upkeep: UpkeepProcess, node: FakeNode): Promise<void> {
  let idle = 0;
  await until("the node is running the correct configuration", settledWithinMs, async () => {
    const state = await upkeep.ask();
    if (state === undefined) throw new Error("the sidecar has exited");
    const runs = findPharosProcesses(node.workspace).length === 1 && (await node.config()) === (await node.running());
    if (state.held !== undefined && !state.isRestarting) await upkeep.ask({ command: "resume" });
    idle = state.isRight && !state.isRestarting && state.held === undefined && !runs ? idle + 1 : 0;
    if (idle === 20) await upkeep.ask({ command: "restart" });
    return state.isRight && !state.isRestarting && state.held === undefined && runs;
  });
}

/** Waits until the restart reaches an instant, then kills the process; returns whether the restart reached it. */
async function strike(
  kill: Kill,
  node: FakeNode,
  { upkeep, random, save }: Readonly<{ upkeep: UpkeepProcess; random: () => number; save: () => Promise<void> }>,
): Promise<boolean> {
  const before = await observeBefore(node);
  await save();
  const came = await until(`${kill.join(" in a ")}`, settledWithinMs, async () => {
    if (await isAt(kill, node, before)) return "there";
    const state = await upkeep.ask();
    const isDone = state?.isRight === true && !state.isRestarting && (await node.running()) === (await node.config());
    return isDone && "over";
  });
  await sleep(random() * spreadMs);
  const [victim] = kill;
  if (victim === "sidecar") await upkeep.kill();
  else for (const pid of findVictims(victim, node)) endIfRunning(pid);
  return came === "there";
}

function endIfRunning(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * Kills a node's processes one after the other, and checks after each kill that exactly one node is running, and that the recorded
 * configuration has run.
 */
async function killAgainAndAgain(node: FakeNode, times: number, random: () => number): Promise<readonly string[]> {
  await using overlap = watchOverlap(node);
  await using resources = new AsyncDisposableStack();
  let upkeep = startUpkeepProcess(node, "ops");
  resources.defer(() => upkeep.kill());
  const came: string[] = [];
  for (let at = 0; at < times; at += 1) {
    const kill = kills[Math.floor(random() * kills.length)] ?? kills[0];
    const name = `${kill.join(" in a ")}, kill ${at} of ${basename(node.workspace)}, seed ${seed}`;
    const fail = (cause: unknown) => expect.fail(`${name}: ${describeError(cause)}`);
    await settle(upkeep, node).catch(fail);
    await writeFile(join(node.workspace, "lock-lingers-seconds"), random() < 0.3 ? "1" : "0");
    const value = random() < 0.3 ? '"crash"' : `${at + 1}`;
    const text = (await node.config()).replace(/"big": \S+/, `"big": ${value}`);
    if (await strike(kill, node, { upkeep, random, save: () => node.save(text) }).catch(fail)) came.push(kill.join());
    if (kill[0] === "sidecar") upkeep = startUpkeepProcess(node, "ops");
    await settle(upkeep, node).catch(fail);
    const rememberedError = await readFile(join(node.workspace, "state", "healthy.conf"), "utf8").catch(
      () => undefined,
    );
    if (rememberedError !== undefined) expect(await listRuns(node), `remembered: ${name}`).toContain(rememberedError);
    expect(overlap.most(), `processes of the node at once: ${name}`).toBe(1);
  }
  return came;
}

function describeError(error: unknown): string {
  const { message, cause } = error as Error;
  return cause === undefined ? message : `${message} (${describeError(cause)})`;
}

test(
  `${count} kills of sidecar, node and ops during a stop, a start and a verification (seed ${seed}): leaves one node running, remembers only configurations that ran, and leaves neighbouring nodes untouched`,
  async () => {
    const host = await makeTestDirectory();
    await using resources = new AsyncDisposableStack();
    const create = async () => resources.use(await createFakeNode(desiredConfig, { profile: "pharos", host }));
    const neighbour = await create();
    await neighbour.start();
    const untouched = findPharosProcesses(neighbour.workspace);
    const nodes = await Promise.all(Array.from({ length: nodesAtOnce }, create));
    for (const node of nodes) await slowOps(node).then(() => node.start());
    const killed = nodes.map((node, at) => killAgainAndAgain(node, count / nodesAtOnce, createRandom(seed + at)));
    const came = (await Promise.all(killed)).flat();
    expect(findPharosProcesses(neighbour.workspace)).toEqual(untouched);
    expect(await neighbour.starts()).toBe(1);
    // With this many kills, each possible kill has happened.
    if (isLong) expect([...new Set(came)].toSorted()).toEqual(kills.map((kill) => kill.join()).toSorted());
  },
  isLong ? 3_600_000 : 120_000,
);
