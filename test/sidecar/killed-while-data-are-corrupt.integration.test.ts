import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { isLong, seed } from "../support/run-size.ts";
import { createRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { startUpgradeProcess } from "../support/upgrade-process.ts";

/** Runs, each with up to three kills of the sidecar: about a hundred kills in a long run. */
const rounds = isLong ? 30 : 1;

/** About the steps outside the process from the ruin of the data to the end of the restore; a kill that would come later does not come. */
const stepsMax = 300;

const withinMs = 200_000;

test.each(Array.from({ length: rounds }, (_, round) => seed + round))(
  "a sidecar is killed at random steps while data are corrupt (seed %s): they are restored once in the end, and the old ones are kept",
  async (roundSeed) => {
    // Neighbouring seeds would begin alike.
    const next = createRandom(Math.imul(roundSeed, 2_654_435_761));
    const step = () => 1 + Math.floor(next() * stepsMax);
    await using node = await createFakeNode();
    const chain = join(node.workspace, "data", "chain");
    await writeFile(chain, "old blocks");
    const snapshot = join(node.workspace, "snapshot");
    await mkdir(snapshot);
    await writeFile(join(snapshot, "chain"), "blocks of the snapshot");
    await node.start();
    const start = (killAt: number) => startUpgradeProcess(node, { killAt, autoRestore: snapshot });
    let sidecar = start(0);
    await until("the node is right", withinMs, async () => {
      const state = await sidecar.ask();
      return state?.isRight === true && state.isKept;
    });
    await writeFile(chain, "ruined");
    await node.kill();
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
    expect(last).toMatchObject({ end: "committed", ownRestores: 1, isHeld: false });
    expect(await readFile(chain, "utf8")).toBe("blocks of the snapshot");
    expect(await readFile(join(snapshot, "chain"), "utf8")).toBe("blocks of the snapshot");
    const [work = ""] = await readdir(join(node.workspace, ".gatehouse-upgrade"));
    const aside = join(node.workspace, ".gatehouse-upgrade", work, "data-of-before", "chain");
    expect(await readFile(aside, "utf8")).toBe("ruined");
    await sidecar.kill();
  },
  900_000,
);
