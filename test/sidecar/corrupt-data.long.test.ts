import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRelease } from "#devnet/testing/new-version.ts";
import type { DevnetWorkspace } from "../support/node/devnet-workspace.ts";
import { readHash, startSettledDevnet, upgradeDevnet } from "../support/node/settled-devnet.ts";
import { until } from "#daemon/testing/until.ts";
import { judgesQuickly } from "./corrupt-data/judges-quickly.ts";
import { expectRestoredByItself, waitUntilUsed } from "./corrupt-data/restored-by-itself.ts";

const kept = { ...judgesQuickly, GATEHOUSE_SIDECAR_UPGRADE_AUTO_RESTORE: "kept" };

/** Four starts have to fail, each with its own stop and 5 s in which somebody else might have made it: 50 s on two idle cores, and 100 s on loaded ones. */
const foundWithinMs = 300_000;

/** Ends a node and ruins its data, as a disk does. */
async function ruin(node: DevnetWorkspace): Promise<void> {
  await node.stop();
  const data = join(node.workspace, "data");
  for (const entry of await readdir(data, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) await writeFile(join(entry.parentPath, entry.name), "ruined");
  }
}

async function startUpgraded(environment: Parameters<typeof startSettledDevnet>[0]) {
  const settled = await startSettledDevnet(environment);
  const { node, upkeep } = settled;
  const source = await makeRelease(join(node.workspace, "releases", "new"), "0.16.2", "good");
  expect((await upgradeDevnet(upkeep, source)).status).toBe(0);
  await upkeep.reason("DataSound", "Sound");
  return settled;
}

test("corrupt data are found by starts that fail with the good node.conf, and are restored once: proved, counted, the old data kept; found corrupt again, a person is held for", async () => {
  await using settled = await startUpgraded(kept);
  const { node, upkeep } = settled;
  const hash = await readHash(node, 2);
  expect((await upkeep.reason("RestoreReady", "Ready")).message).toContain(".gatehouse-upgrade");
  const config = await readFile(node.configPath, "utf8");
  await ruin(node);
  const asides = await expectRestoredByItself(upkeep, foundWithinMs);
  expect(await readHash(node, 2)).toBe(hash);
  expect(await readFile(node.configPath, "utf8")).toBe(config);
  for (const aside of asides) expect(await readdir(aside)).not.toEqual([]);
  await waitUntilUsed(upkeep, 60_000);
  await ruin(node);
  const held = await until("it is held for a person", foundWithinMs, () => {
    const unheld = upkeep.board.get("Unheld");
    return unheld?.message.includes("one snapshot is not used twice") === true && unheld;
  });
  expect(held.status).toBe("False");
  expect((await upkeep.reason("DataSound", "Corrupt")).message).toContain("is not used twice");
  expect(upkeep.state.ownRestores.get()).toHaveLength(1);
}, 900_000);
