import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRelease, type NewVersion } from "#devnet/testing/new-version.ts";
import type { DevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import {
  readHash,
  readHeight,
  readVersion,
  startSettledDevnet,
  upgradeDevnet,
} from "../../support/node/settled-devnet.ts";
import { expectProvedUpgrade } from "./upgrade-command/proved-upgrade.ts";

const release = (node: DevnetWorkspace, kind: NewVersion) =>
  makeRelease(join(node.workspace, "releases", kind), "0.16.2", kind);

test("an upgrade is shown, refused without a word of yes, and then proved: version, blocks, node.conf, pruning; nothing is left behind", async () => {
  await using settled = await startSettledDevnet();
  const { node } = settled;
  await expectProvedUpgrade({
    ...settled,
    source: await release(node, "good"),
    readConf: () => readFile(node.configPath, "utf8"),
    expectVersion: async (version) => expect(await readVersion(node)).toContain(version),
  });
});

test.each(["broken", "corrupting"] as const)(
  "a %s version is rolled back: programs, old data and old node.conf, proved, and held",
  async (kind) => {
    await using settled = await startSettledDevnet();
    const { node, upkeep } = settled;
    const before = await readFile(node.configPath, "utf8");
    const programs = await readFile(join(node.workspace, "bin", "ops"), "utf8");
    const [hash, height] = [await readHash(node, 2), await readHeight(node)];
    const failed = await upgradeDevnet(upkeep, await release(node, kind));
    expect(failed.printed).toContain("the node runs as 0.15.0 again, with its old data and old node.conf");
    expect(failed.status).toBe(1);
    expect(await readVersion(node)).toContain("0.15.0");
    expect(await readHash(node, 2)).toBe(hash);
    expect(await readHeight(node)).toBeGreaterThan(height);
    expect(await readFile(node.configPath, "utf8")).toBe(before);
    expect(await readFile(join(node.workspace, "bin", "ops"), "utf8")).toBe(programs);
    expect(await readdir(join(node.workspace, "bin"))).not.toContain("release.json");
    const condition = await upkeep.reason("UpgradeVerified", "RolledBack");
    expect(condition).toMatchObject({ status: "False" });
    expect((await upkeep.reason("NotPaused", "Paused")).message).toContain("was rolled back");
    expect((await upgradeDevnet(upkeep, await release(node, "good"))).printed).toContain(
      "problem: Gatehouse is paused",
    );
    expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_upgrades_total{end="rolled-back"} 1');
  },
);
