import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeRelease } from "#devnet/testing/new-version.ts";
import { isOnPath } from "#devnet/pushgateway/real-pushgateway.ts";
import {
  readHash,
  readHeight,
  readVersion,
  startSettledDevnet,
  upgradeDevnet,
} from "../../support/node/settled-devnet.ts";

const isThere = await isOnPath("rsync");
const skipped = isThere ? "" : " (skipped: no rsync on the PATH; apt install rsync)";
const byRsync = { GATEHOUSE_SIDECAR_UPGRADE_SNAPSHOT: "rsync" };

describe.skipIf(!isThere)(`an upgrade whose data are copied by rsync${skipped}`, () => {
  test("shows how long the node stands still, copies while it runs, and proves the new version", async () => {
    await using settled = await startSettledDevnet(byRsync);
    const { node, upkeep } = settled;
    const source = await makeRelease(join(node.workspace, "releases", "good"), "0.16.2", "good");
    const { printed } = await upgradeDevnet(upkeep, source, { dryRun: true });
    expect(printed).toContain("while it runs, by rsync");
    expect(printed).toContain("how long the node stands still depends on what changed meanwhile");
    const hash = await readHash(node, 2);
    const done = await upgradeDevnet(upkeep, source);
    expect(done.printed).toContain("The upgrade from 0.15.0 to 0.16.2 is proved.");
    expect(done).toMatchObject({ status: 0, errors: "" });
    expect(await readHash(node, 2)).toBe(hash);
    expect(await readdir(join(node.workspace, ".gatehouse-upgrade"))).toEqual([]);
    const messages = upkeep.events.list().map(({ message }) => message);
    expect(messages).toContain("The upgrade from 0.15.0 to 0.16.2 comes to the node.");
  });

  test("puts back the data that a new version ruined, as they were when the node was stopped", async () => {
    await using settled = await startSettledDevnet(byRsync);
    const { node, upkeep } = settled;
    const source = await makeRelease(join(node.workspace, "releases", "corrupting"), "0.16.2", "corrupting");
    const [hash, height] = [await readHash(node, 2), await readHeight(node)];
    const failed = await upgradeDevnet(upkeep, source);
    expect(failed.printed).toContain("the node runs as 0.15.0 again, with its old data and old node.conf");
    expect(await readVersion(node)).toContain("0.15.0");
    expect(await readHash(node, 2)).toBe(hash);
    expect(await readHeight(node)).toBeGreaterThan(height);
    expect(upkeep.state.upgrade.get()?.before.height).toBeGreaterThanOrEqual(height);
  });
});
