import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { isLong, seed } from "../../support/run-size.ts";
import { upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { chainOf, oldBlocks, startSettledFake } from "../../support/node/settled-fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import { startUpgradeProcess } from "../../support/upgrade-process.ts";
import { restoreData } from "./restore-data/run-restore.ts";

const run = promisify(execFile);

/** The step at which the sidecar ends itself, of those that a restore has. */
const killAt = (kill: number) => 1 + ((seed * 31 + kill * 17) % 40);

test("data would be restored from the copy that an upgrade kept, and are from an archive; a snapshot that the node does not run with is rolled back", async () => {
  await using settled = await startSettledFake({ GATEHOUSE_SIDECAR_UPGRADE_KEEP_SNAPSHOT: "true" });
  const { node, upkeep } = settled;
  const chain = chainOf(node);
  expect((await restoreData(upkeep)).printed).toContain("problem: no upgrade has kept a copy of the data");
  expect((await upgradeDevnet(upkeep, await node.release("0.16.2", "good"))).status).toBe(0);
  const kept = join(node.workspace, ".gatehouse-upgrade");
  const [name = ""] = await readdir(kept);
  const shown = await restoreData(upkeep, undefined, { dryRun: true });
  expect(shown).toMatchObject({ status: 0, errors: "" });
  expect(shown.printed).toContain(`Copy ${join(kept, name, "data")} next to ${dirname(chain)}.`);
  expect(shown.printed).toContain("Put ");
  expect(shown.printed).toContain("warning: the node answers");
  expect(upkeep.state.upgrade.get()?.restoredFrom).toBeUndefined();
  const broken = join(node.workspace, "broken");
  await mkdir(broken);
  await writeFile(join(broken, "chain"), "ruined");
  const failed = await restoreData(upkeep, broken);
  expect(failed.printed).toContain("was rolled back: the node runs with its old data");
  expect(failed.status).toBe(1);
  expect(await readFile(chain, "utf8")).toBe(oldBlocks);
  await upkeep.reason("NotPaused", "Paused");
  await writeFile(join(broken, "chain"), "blocks of the archive");
  const archive = join(node.workspace, "snapshot.tar.gz");
  await run("tar", ["-czf", archive, "-C", broken, "."]);
  // A hold does not speak against it: that restarts did not help is why it is requested.
  const outcome = await restoreData(upkeep, archive, { json: true });
  expect(outcome).toMatchObject({ status: 0, errors: expect.stringContaining("It has begun.") });
  expect(JSON.parse(outcome.printed)).toMatchObject({ result: "begun", upgrade: { end: "committed" } });
  expect(await readFile(chain, "utf8")).toBe("blocks of the archive");
  await upkeep.reason("NotPaused", "NotPaused");
});

test("a restore whose sidecar is killed at random steps ends with the data of the snapshot, or with the old ones", async () => {
  await using node = await createFakeNode();
  await node.install("0.15.0");
  const chain = join(node.workspace, "data", "chain");
  await writeFile(chain, "old blocks");
  await node.start();
  const snapshot = join(node.workspace, "snapshot");
  await mkdir(snapshot);
  await writeFile(join(snapshot, "chain"), "blocks of the snapshot");
  let sidecar = startUpgradeProcess(node);
  await until("the node is right", 120_000, async () => (await sidecar.ask())?.isRight);
  const outcome = await sidecar.ask({ snapshot, killAt: killAt(0) });
  expect(outcome?.problems ?? []).toEqual([]);
  for (let kills = 1; kills <= (isLong ? 5 : 1); kills += 1) {
    const how = await until("the restore has ended, or the sidecar", 120_000, async () => {
      if (sidecar.hasEnded()) return "killed";
      return (await sidecar.ask())?.end !== undefined && "ended";
    });
    if (how === "ended") break;
    sidecar = startUpgradeProcess(node, { killAt: killAt(kills) });
  }
  if (sidecar.hasEnded()) sidecar = startUpgradeProcess(node);
  const last = await until("the restore has ended", 120_000, async () => {
    if (sidecar.hasEnded()) sidecar = startUpgradeProcess(node);
    const state = await sidecar.ask();
    return state !== undefined && (state.stage === undefined || state.end !== undefined) ? { state } : undefined;
  });
  expect([undefined, "committed", "rolled-back"], last.state.words).toContain(last.state.end);
  const isRestored = last.state.end === "committed";
  expect(await readFile(chain, "utf8")).toBe(isRestored ? "blocks of the snapshot" : "old blocks");
  expect(await readFile(join(snapshot, "chain"), "utf8")).toBe("blocks of the snapshot");
  await sidecar.kill();
}, 600_000);
