import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { runCancelCommand } from "#sidecar/upkeep/control/upgrade-command.ts";
import { findControl, keepPrinted, readHeight, upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { runFakeUpkeep, waitUntilFakeSettled } from "../../support/node/settled-fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import { startUpgradeProcess } from "../../support/upgrade-process.ts";

const hourMs = 3_600_000;

/** Has an upgrade accepted for a height, further off each time until it is still to come when the sidecar accepts it. */
async function acceptAtHeight(node: FakeNode, upkeep: RunningUpkeep, source: string): Promise<number> {
  for (let ahead = 20; ; ahead *= 4) {
    const height = (await readHeight(node)) + ahead;
    const asked = await upgradeDevnet(upkeep, source, { at: { kind: "height", height } });
    if (asked.status === 0) return height;
    expect(ahead).toBeLessThan(1_000);
    expect(asked.printed).toContain(`problem: block ${height} is there already`);
  }
}

test("an upgrade is accepted for a time, withdrawn, not begun after its time was slept through, and begun at a height by a later sidecar", async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-scheduled-"));
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(stateDirectory, { recursive: true, force: true }));
  const node = resources.use(await createFakeNode());
  await node.install("0.15.0");
  await node.start();
  const source = await node.release("0.16.2", "good");
  let aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const atMs = systemClock.wallMs() + hourMs;
  {
    await using upkeep = await runFakeUpkeep(node, {}, { stateDirectory, clock });
    await waitUntilFakeSettled(upkeep);
    const at = { kind: "time", atMs } as const;
    const begins = `begins by itself at ${new Date(atMs).toISOString()}`;
    expect((await upgradeDevnet(upkeep, source, { at: { kind: "height", height: 1 } })).printed).toContain(
      "problem: block 1 is there already",
    );
    const shown = await upgradeDevnet(upkeep, source, { at, dryRun: true });
    expect(shown).toMatchObject({ status: 0, errors: "" });
    expect(shown.printed).toContain(begins);
    expect(upkeep.board.get("UpgradeProved")).toBeUndefined();
    const accepted = await upgradeDevnet(upkeep, source, { at });
    expect(accepted.printed).toContain("It is accepted, and begins by itself");
    expect(accepted.status).toBe(0);
    const { message } = await upkeep.reason("UpgradeProved", "Scheduled");
    expect(message).toContain(begins);
    expect(message).toContain(
      `Withdraw it: ${formatOwnCommand()} upgrade --cancel --state-directory ${stateDirectory}`,
    );
    expect((await upgradeDevnet(upkeep, source)).printed).toContain(
      "problem: an upgrade to 0.16.2 is accepted already",
    );
    const cancelled = keepPrinted();
    expect(await runCancelCommand(findControl(upkeep), cancelled.output)).toBe(0);
    expect(cancelled.printed().printed).toContain(begins);
    await upkeep.reason("UpgradeProved", "NoneScheduled");
    const again = keepPrinted();
    expect(await runCancelCommand(findControl(upkeep), again.output, { json: true })).toBe(0);
    expect(JSON.parse(again.printed().printed)).toMatchObject({ result: "none" });
    const outcome = await upgradeDevnet(upkeep, source, { at, json: true });
    expect([outcome.status, JSON.parse(outcome.printed)]).toEqual([
      0,
      expect.objectContaining({ result: "scheduled", starts: expect.stringContaining(new Date(atMs).toISOString()) }),
    ]);
  }
  // The machine sleeps past the time.
  aheadMs = 2 * hourMs;
  await using upkeep = await runFakeUpkeep(node, {}, { stateDirectory, clock });
  const missed = await upkeep.reason("UpgradeProved", "NotBegun");
  expect(missed).toMatchObject({ status: "False", message: expect.stringContaining("upgrade.lateMs") });
  expect(await node.version()).toBe("0.15.0");
  await waitUntilFakeSettled(upkeep);
  const height = await acceptAtHeight(node, upkeep, source);
  await upkeep.reason("UpgradeProved", "Proved", 150_000);
  expect(await node.version()).toBe("0.16.2");
  expect(upkeep.state.upgrade.get()?.before.height).toBeGreaterThanOrEqual(height);
});

test("an upgrade that was accepted before the sidecar was killed begins at its time", async () => {
  await using node = await createFakeNode();
  await node.install("0.15.0");
  await node.start();
  const source = await node.release("0.16.2", "good");
  let sidecar = startUpgradeProcess(node);
  await until("the node is right", 120_000, async () => (await sidecar.ask())?.isRight);
  expect((await sidecar.ask({ source, atMs: Date.now() + hourMs }))?.problems).toEqual([]);
  await sidecar.kill();
  expect(await node.version()).toBe("0.15.0");
  // An hour later but for the seconds in which it waits: where its node is not known to be well by then, it tries again five seconds later.
  sidecar = startUpgradeProcess(node, { aheadMs: hourMs - 3_000 });
  await until("the upgrade has ended", 240_000, async () => (await sidecar.ask())?.end === "committed");
  expect(await node.version()).toBe("0.16.2");
  await sidecar.kill();
});
