import { execFile } from "node:child_process";
import { cp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeRelease } from "#devnet/testing/new-version.ts";
import { readHash, readVersion, startSettledDevnet, upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { restoreData } from "./restore-data/run-restore.ts";

const run = promisify(execFile);

test("data are restored from the copy that an upgrade kept and from an archive; a snapshot that the node does not run with is rolled back", async () => {
  await using settled = await startSettledDevnet({ GATEHOUSE_SIDECAR_UPGRADE_KEEP_SNAPSHOT: "true" });
  const { node, upkeep } = settled;
  expect((await restoreData(upkeep)).printed).toContain("problem: no upgrade has kept a copy of the data");
  const source = await makeRelease(join(node.workspace, "releases", "new"), "0.16.2", "good");
  expect((await upgradeDevnet(upkeep, source)).status).toBe(0);
  const hash = await readHash(node, 2);
  const kept = join(node.workspace, ".gatehouse-upgrade");
  const [name = ""] = await readdir(kept);
  const shown = await restoreData(upkeep, undefined, { dryRun: true });
  expect(shown).toMatchObject({ status: 0, errors: "" });
  expect(shown.printed).toContain("Put ");
  expect(shown.printed).toContain("warning: the node answers");
  expect(upkeep.state.upgrade.get()?.restoredFrom).toBeUndefined();
  const done = await restoreData(upkeep);
  expect(done.printed).toContain("is proved: the node runs with them");
  expect(done.status).toBe(0);
  expect(await readHash(node, 2)).toBe(hash);
  expect(await readVersion(node)).toContain("0.16.2");
  const broken = join(node.workspace, "broken");
  await cp(join(kept, name, "data"), broken, { recursive: true });
  for (const entry of await readdir(broken, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) await writeFile(join(entry.parentPath, entry.name), "ruined");
  }
  const failed = await restoreData(upkeep, broken);
  expect(failed.printed).toContain("was rolled back: the node runs with its old data");
  expect(failed.status).toBe(1);
  expect(await readHash(node, 2)).toBe(hash);
  await upkeep.reason("NotPaused", "Paused");
  const archive = join(node.workspace, "snapshot.tar.gz");
  await run("tar", ["-czf", archive, "-C", join(kept, name, "data"), "."]);
  // A hold does not speak against it: that restarts did not help is why it is requested.
  const outcome = await restoreData(upkeep, archive, { json: true });
  expect(outcome).toMatchObject({ status: 0, errors: expect.stringContaining("It has begun.") });
  expect(JSON.parse(outcome.printed)).toMatchObject({ result: "begun", upgrade: { end: "committed" } });
  expect(await readHash(node, 2)).toBe(hash);
  await upkeep.reason("NotPaused", "NotPaused");
}, 300_000);
