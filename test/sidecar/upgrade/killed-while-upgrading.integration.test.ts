import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import { isLong, seed } from "../../support/run-size.ts";
import { createRandom } from "../../support/seeded-random.ts";
import { startUpgradeProcess } from "../../support/upgrade-process.ts";

/**
 * Upgrades per run, each with up to three kills of the sidecar and of the node: about a hundred kills in a long run.
 */
const rounds = isLong ? 60 : 1;

/** Exceeds the number of external steps of an upgrade; a kill at a later step never happens. */
const stepsMax = 140;

const withinMs = 120_000;

/** Creates a generator of numbers below a bound, deterministic for a seed. */
function randomOf(start: number) {
  // Without this factor, adjacent seeds would start with similar numbers.
  const random = createRandom(Math.imul(start, 2_654_435_761));
  return (below: number) => Math.floor(random() * below);
}

test.each(Array.from({ length: rounds }, (_, round) => seed + round))(
  "kills sidecar and node at random steps of an upgrade (seed %s): ends with one of the two versions verified, with its data and node.conf",
  async (roundSeed) => {
    const random = randomOf(roundSeed);
    const kind = roundSeed % 2 === 0 ? "good" : "corrupting";
    await using node = await createFakeNode();
    await node.install("0.15.0");
    await writeFile(join(node.workspace, "data", "chain"), "old blocks");
    await node.start();
    const source = await node.release("0.16.2", kind);
    let sidecar = startUpgradeProcess(node);
    await until("the node is correct", withinMs, async () => (await sidecar.ask())?.isRight);
    const configBefore = await node.config();
    const outcome = await sidecar.ask({ source, killAt: 1 + random(stepsMax) });
    expect(outcome?.problems ?? []).toEqual([]);
    for (let kills = 0; kills < 3; kills += 1) {
      const how = await until("the upgrade has ended, or the sidecar has exited", withinMs, async () => {
        if (sidecar.hasEnded()) return "killed";
        return (await sidecar.ask())?.end !== undefined && "ended";
      });
      if (how === "ended") break;
      if (random(3) === 0) await node.kill();
      const isLast = kills === 2;
      sidecar = startUpgradeProcess(node, { killAt: isLast ? 0 : 1 + random(stepsMax) });
    }
    if (sidecar.hasEnded()) sidecar = startUpgradeProcess(node);
    const last = await until("the upgrade has ended", withinMs, async () => {
      const state = await sidecar.ask();
      return state === undefined || state.stage === undefined || state.end !== undefined ? { state } : undefined;
    });
    const { end, words } = last.state ?? {};
    const isNew = end === "committed";
    // An upgrade that was killed before its confirmation never started.
    expect([undefined, "committed", "rolled-back"], words).toContain(end);
    if (kind === "corrupting") expect(isNew).toBe(false);
    expect(await node.version()).toBe(isNew ? "0.16.2" : "0.15.0");
    expect(await readFile(join(node.workspace, "data", "chain"), "utf8")).toBe("old blocks");
    if (isNew) expect(await node.config()).toContain("storage_enable_cetina");
    else expect(await node.config()).toBe(configBefore);
    expect((await readdir(node.binDirectory)).filter((name) => /\.tmp$|gatehouse-new$/.test(name))).toEqual([]);
    if (isNew) expect(await readdir(join(node.workspace, ".gatehouse-upgrade"))).toEqual([]);
    await sidecar.kill();
  },
  600_000,
);
