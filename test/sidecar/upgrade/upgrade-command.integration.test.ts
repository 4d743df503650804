import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readHeight, upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { chainOf, oldBlocks, startSettledFake } from "../../support/node/settled-fake-node.ts";
import { expectProvedUpgrade } from "./upgrade-command/proved-upgrade.ts";

test("an upgrade is shown, refused without a word of yes, and then proved: version, blocks, node.conf, pruning; nothing is left behind", async () => {
  await using settled = await startSettledFake();
  const { node } = settled;
  await expectProvedUpgrade({
    ...settled,
    source: await node.release("0.16.2", "good"),
    readConf: node.config,
    expectVersion: async (version) => expect(await node.version()).toBe(version),
  });
});

test("a corrupting version is rolled back: programs, old data and old node.conf, proved, and held", async () => {
  await using settled = await startSettledFake();
  const { node, upkeep } = settled;
  const before = await node.config();
  const program = () => readFile(join(node.binDirectory, "node-process.cjs"), "utf8");
  const [programs, old] = [await readdir(node.binDirectory), await program()];
  const height = await readHeight(node);
  const failed = await upgradeDevnet(upkeep, await node.release("0.16.2", "corrupting"));
  expect(failed.printed).toContain("the node runs as 0.15.0 again, with its old data and old node.conf");
  expect(failed.status).toBe(1);
  expect(await node.version()).toBe("0.15.0");
  expect(await readFile(chainOf(node), "utf8")).toBe(oldBlocks);
  expect(await readHeight(node)).toBeGreaterThan(height);
  expect(await node.config()).toBe(before);
  expect(await node.running()).toBe(before);
  expect((await readdir(node.binDirectory)).toSorted()).toEqual(programs.toSorted());
  expect(await program()).toBe(old);
  const condition = await upkeep.reason("UpgradeVerified", "RolledBack");
  expect(condition).toMatchObject({ status: "False" });
  expect((await upkeep.reason("NotPaused", "Paused")).message).toContain("was rolled back");
  const next = await upgradeDevnet(upkeep, await node.release("0.16.2", "good"));
  expect(next.printed).toContain("problem: Gatehouse is paused");
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_upgrades_total{end="rolled-back"} 1');
});
