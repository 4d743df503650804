import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readHash, readHeight, upgradeDevnet } from "../../../support/node/settled-devnet.ts";

/** A settled node of 0.15.0 with a good release of 0.16.2, and readers of its node.conf and version. */
export type UpgradedNode = Readonly<{
  node: Readonly<{ workspace: string; httpUrl: string }>;
  upkeep: RunningUpkeep;
  source: string;
  readConf: () => Promise<string>;
  expectVersion: (version: string) => Promise<void>;
}>;

const restarts = ({ events }: RunningUpkeep) =>
  events.list().filter(({ message }) => message.startsWith("Restarting the node")).length;

/**
 * Previews an upgrade, is rejected without a confirmation, and then runs it: it is verified, and can't be started
 * again.
 */
export async function expectProvedUpgrade({
  node,
  upkeep,
  source,
  readConf,
  expectVersion,
}: UpgradedNode): Promise<void> {
  const before = await readConf();
  const shown = await upgradeDevnet(upkeep, source, { dryRun: true });
  expect(shown).toMatchObject({ status: 0, errors: "" });
  expect(shown.printed).toContain("from 0.15.0 to 0.16.2");
  expect(shown.printed).toContain("enable_pamir_cetina renamed to storage_enable_cetina");
  expect(shown.printed).toContain("there is no rollback to the old data");
  expect(await upgradeDevnet(upkeep, source, { yes: false })).toMatchObject({
    status: 1,
    errors: "upgrade: nothing was changed. Without a terminal, pass --yes.\n",
  });
  const unasked = await upgradeDevnet(upkeep, source, { yes: false, json: true });
  expect([unasked.status, JSON.parse(unasked.printed)]).toEqual([
    1,
    expect.objectContaining({ result: "shown", plan: expect.objectContaining({ from: "0.15.0", to: "0.16.2" }) }),
  ]);
  await expectVersion("0.15.0");
  expect(await readConf()).toBe(before);
  const [hash, height] = [await readHash(node, 2), await readHeight(node)];
  const restartsBefore = restarts(upkeep);
  const done = await upgradeDevnet(upkeep, source);
  expect(done.printed).toContain("The upgrade from 0.15.0 to 0.16.2 is verified.");
  expect(done).toMatchObject({ status: 0, errors: "" });
  await expectVersion("0.16.2");
  expect(await readHash(node, 2)).toBe(hash);
  expect(await readHeight(node)).toBeGreaterThan(height);
  expect(await readConf()).toContain("storage_enable_cetina");
  expect((await upkeep.reason("UpgradeVerified", "Verified")).status).toBe("True");
  expect(await readdir(join(node.workspace, ".gatehouse-upgrade"))).toEqual([]);
  // The new version's keys are already present: they need no second restart.
  await upkeep.reason("NoRestartPending", "NoRestart", 20_000);
  await upkeep.reason("Pruning", "Enabled", 20_000);
  expect(restarts(upkeep)).toBe(restartsBefore);
  expect((await upgradeDevnet(upkeep, source)).printed).toContain("problem: the node is 0.16.2 already");
  const refused = await upgradeDevnet(upkeep, source, { dryRun: true, json: true });
  expect([refused.status, JSON.parse(refused.printed)]).toEqual([
    1,
    expect.objectContaining({ result: "refused", node: expect.objectContaining({ name: expect.any(String) }) }),
  ]);
}
