import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import {
  chainOf,
  oldBlocks,
  readHash,
  readHeight,
  startSettledFake,
  upgradeNode,
} from "../../support/node/upgraded-node.ts";

const restarts = ({ events }: RunningUpkeep) =>
  events.list().filter(({ message }) => message.startsWith("Restarting the node")).length;

test("shows an upgrade, rejects it without confirmation, then verifies version, blocks, node.conf and pruning, and leaves nothing behind", async () => {
  await using settled = await startSettledFake();
  const { node, upkeep } = settled;
  const source = await node.release("0.16.2", "good");
  await node.save(`\uFEFF${await node.config()}`);
  const configBefore = await node.config();
  const shown = await upgradeNode(upkeep, source, { dryRun: true });
  expect(shown).toMatchObject({ status: 0, errors: "" });
  expect(shown.printed).toContain("from 0.15.0 to 0.16.2");
  expect(shown.printed).toContain("enable_pamir_cetina renamed to storage_enable_cetina");
  expect(shown.printed).toContain("there is no rollback to the old data");
  expect(await upgradeNode(upkeep, source, { yes: false })).toMatchObject({
    status: 1,
    errors: "upgrade: nothing was changed. Without a terminal, pass --yes.\n",
  });
  const unasked = await upgradeNode(upkeep, source, { yes: false, json: true });
  expect([unasked.status, JSON.parse(unasked.printed)]).toEqual([
    1,
    expect.objectContaining({ result: "shown", plan: expect.objectContaining({ from: "0.15.0", to: "0.16.2" }) }),
  ]);
  expect(await node.version()).toBe("0.15.0");
  expect(await node.config()).toBe(configBefore);
  const [hash, height] = [await readHash(node, 2), await readHeight(node)];
  const restartsBefore = restarts(upkeep);
  const done = await upgradeNode(upkeep, source);
  expect(done.printed).toContain("The upgrade from 0.15.0 to 0.16.2 is verified.");
  expect(done).toMatchObject({ status: 0, errors: "" });
  expect(await node.version()).toBe("0.16.2");
  expect(await readHash(node, 2)).toBe(hash);
  expect(await readHeight(node)).toBeGreaterThan(height);
  expect(await node.config()).toMatch(/^\uFEFF.*storage_enable_cetina/s);
  expect((await upkeep.reason("UpgradeVerified", "Verified")).status).toBe("True");
  expect(await readdir(join(node.workspace, ".gatehouse-upgrade"))).toEqual([]);
  // node.conf already has the new version's keys, so no second restart is due.
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("Pruning", "Enabled");
  expect(restarts(upkeep)).toBe(restartsBefore);
  expect((await upgradeNode(upkeep, source)).printed).toContain("problem: the node is 0.16.2 already");
  const rejected = await upgradeNode(upkeep, source, { dryRun: true, json: true });
  expect([rejected.status, JSON.parse(rejected.printed)]).toEqual([
    1,
    expect.objectContaining({ result: "rejected", node: expect.objectContaining({ name: expect.any(String) }) }),
  ]);
});

test("rolls back a version that corrupts data: restores and verifies the old binaries, data and node.conf, and pauses", async () => {
  await using settled = await startSettledFake();
  const { node, upkeep } = settled;
  const configBefore = await node.config();
  const program = () => readFile(join(node.binDirectory, "node-process.cjs"), "utf8");
  const [programs, old] = [await readdir(node.binDirectory), await program()];
  const height = await readHeight(node);
  const failed = await upgradeNode(upkeep, await node.release("0.16.2", "corrupting"));
  expect(failed.printed).toContain("the node runs as 0.15.0 again, with its old data and old node.conf");
  expect(failed.status).toBe(1);
  expect(await node.version()).toBe("0.15.0");
  expect(await readFile(chainOf(node), "utf8")).toBe(oldBlocks);
  expect(await readHeight(node)).toBeGreaterThan(height);
  expect(await node.config()).toBe(configBefore);
  expect(await node.running()).toBe(configBefore);
  expect((await readdir(node.binDirectory)).toSorted()).toEqual(programs.toSorted());
  expect(await program()).toBe(old);
  const condition = await upkeep.reason("UpgradeVerified", "RolledBack");
  expect(condition).toMatchObject({ status: "False" });
  expect((await upkeep.reason("NotPaused", "Paused")).message).toContain("was rolled back");
  const next = await upgradeNode(upkeep, await node.release("0.16.2", "good"));
  expect(next.printed).toContain("problem: Gatehouse is paused");
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_upgrades_total{end="rolled-back"} 1');
});
