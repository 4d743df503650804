import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import type { UpgradeProcess, UpgradeProcessState } from "../../support/upgrade-process.ts";

/** About the steps outside the process from the ruin of the data to the end of the restore; a kill that would come later does not come. */
export const stepsMax = 300;

/** Fewer steps than that has. */
export const stepsMin = 100;

export const withinMs = 200_000;

/** Gives a fake node data, and lays a snapshot of them next to it. */
export async function makeSnapshot(node: FakeNode) {
  const chain = join(node.workspace, "data", "chain");
  await writeFile(chain, "old blocks");
  const snapshot = join(node.workspace, "snapshot");
  await mkdir(snapshot);
  await writeFile(join(snapshot, "chain"), "blocks of the snapshot");
  await node.start();
  return { chain, snapshot };
}

export async function waitUntilWell(sidecar: UpgradeProcess): Promise<void> {
  await until("the node is right", withinMs, async () => {
    const state = await sidecar.ask();
    return state?.isRight === true && state.isKept;
  });
}

export async function endWithRuinedData(node: FakeNode, chain: string): Promise<void> {
  await writeFile(chain, "ruined");
  await node.kill();
}

/** Waits until a restore has ended; undefined where its sidecar was killed before. */
export async function waitUntilEnded(sidecar: UpgradeProcess): Promise<UpgradeProcessState | undefined> {
  return until("the restore has ended, or the sidecar", withinMs, async () => {
    const state = await sidecar.ask();
    if (state?.end !== undefined) return { state };
    return sidecar.hasEnded() && { state: undefined };
  }).then(({ state }) => state);
}

export async function checkRestored(node: FakeNode, last: UpgradeProcessState | undefined): Promise<void> {
  expect(last).toMatchObject({ end: "committed", ownRestores: 1, restoreStarts: 1, isHeld: false });
  expect(await readFile(join(node.workspace, "data", "chain"), "utf8")).toBe("blocks of the snapshot");
  expect(await readFile(join(node.workspace, "snapshot", "chain"), "utf8")).toBe("blocks of the snapshot");
  const works = await readdir(join(node.workspace, ".gatehouse-upgrade"));
  expect(works).toHaveLength(1);
  const work = join(node.workspace, ".gatehouse-upgrade", works[0] ?? "");
  expect(await readdir(work)).toContain("data-of-before");
  expect(await readFile(join(work, "data-of-before", "chain"), "utf8")).toBe("ruined");
}
