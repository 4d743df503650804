import { cp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildFreePortConfig, createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { seed } from "../support/run-size.ts";
import { createRandom } from "../support/seeded-random.ts";
import { until } from "#daemon/testing/until.ts";
import { startUpgradeProcess } from "../support/upgrade-process.ts";
import {
  checkRestored,
  makeSnapshot,
  endWithRuinedData,
  stepsMax,
  stepsMin,
  waitUntilEnded,
  waitUntilWell,
  withinMs,
} from "./killed-while-data-are-corrupt/restored-once.ts";

/** Runs, each with up to three kills of the sidecar: about a hundred kills. */
const rounds = 30;

test.each(Array.from({ length: rounds }, (_, round) => seed + round))(
  "a sidecar is killed at random steps while data are corrupt (seed %s): they are restored once in the end, and the old ones are kept",
  async (roundSeed) => {
    // Neighbouring seeds would begin alike.
    const next = createRandom(Math.imul(roundSeed, 2_654_435_761));
    const step = () => 1 + Math.floor(next() * stepsMax);
    await using node = await createFakeNode(await buildFreePortConfig());
    const { chain, snapshot } = await makeSnapshot(node);
    const start = (killAt: number) => startUpgradeProcess(node, { killAt, autoRestore: snapshot });
    let sidecar = start(0);
    await waitUntilWell(sidecar);
    await endWithRuinedData(node, chain);
    await sidecar.ask({ killAt: step() });
    for (let kills = 0; kills < 3; kills += 1) {
      const how = await until("the restore has ended, or the sidecar", withinMs, async () => {
        if (sidecar.hasEnded()) return "killed";
        return (await sidecar.ask())?.end !== undefined && "ended";
      });
      if (how === "ended") break;
      sidecar = start(kills === 2 ? 0 : step());
    }
    const last = await until("the restore has ended", withinMs, async () => {
      if (sidecar.hasEnded()) sidecar = start(0);
      const state = await sidecar.ask();
      return state?.end !== undefined && state;
    });
    await checkRestored(node, last);
    await sidecar.kill();
  },
  900_000,
);

/** A restore's steps: 1 is every step, 3 every third one. */
const stride = Number(process.env["GATEHOUSE_TEST_KILL_STRIDE"] ?? 1);

/** First step of a run: another one by each seed, so that over time each is tried. */
const firstStep = 1 + (seed % stride);

test(`a sidecar is killed before one step in ${stride} of a restore by itself, from step ${firstStep}: it is made once, charged once, and the data are whole`, async () => {
  await using node = await createFakeNode(await buildFreePortConfig());
  const { snapshot } = await makeSnapshot(node);
  const back = await findCorrupt(node);
  const start = (killAt: number) => startUpgradeProcess(node, { killAt, autoRestore: snapshot });
  for (let killAt = firstStep; ; killAt += stride) {
    if (killAt > stepsMax) throw new Error(`still killed at step ${killAt}`);
    let sidecar = start(killAt);
    const ended = await waitUntilEnded(sidecar);
    if (ended === undefined) sidecar = start(0);
    await checkRestored(node, ended ?? (await waitUntilEnded(sidecar)));
    await sidecar.kill();
    if (ended !== undefined) {
      expect(killAt).toBeGreaterThan(stepsMin);
      return;
    }
    await back();
  }
}, 3_600_000);

/** Has a sidecar find the data of a node corrupt that it can't restore. Returns what makes all as it is then again. */
async function findCorrupt(node: FakeNode): Promise<() => Promise<void>> {
  const data = join(node.workspace, "data");
  const works = join(node.workspace, ".gatehouse-upgrade");
  const state = join(node.workspace, "state");
  const kept = join(node.workspace, "state-kept");
  const sidecar = startUpgradeProcess(node, { autoRestore: join(node.workspace, "not-there") });
  await waitUntilWell(sidecar);
  await endWithRuinedData(node, join(data, "chain"));
  await until("the data are found corrupt", withinMs, async () => (await sidecar.ask())?.data === "Corrupt");
  await sidecar.kill();
  // Its socket, which nobody copies.
  await rm(join(state, "control"), { recursive: true });
  await cp(state, kept, { recursive: true });
  const config = await node.config();
  return async () => {
    await node.kill();
    await rm(join(node.workspace, "node.pid"), { force: true });
    // The sidecar knows the directory: a copy would be another one.
    for (const work of await readdir(works)) {
      await rm(data, { recursive: true });
      await rename(join(works, work, "data-of-before"), data);
    }
    await rm(works, { recursive: true });
    await rm(state, { recursive: true });
    await cp(kept, state, { recursive: true });
    await node.save(config);
  };
}
