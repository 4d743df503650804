import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { isOnPath } from "#devnet/pushgateway/real-pushgateway.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { createNodeProcesses } from "#sidecar/upkeep/drivers/node-processes.ts";
import { runCancelCommand } from "#sidecar/upkeep/control/upgrade-command.ts";
import { findControl, keepPrinted, readHeight, upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { chainOf, oldBlocks, startSettledFake } from "../../support/node/settled-fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import { startUpgradeProcess } from "../../support/upgrade-process.ts";

const isThere = await isOnPath("rsync");
const skipped = isThere ? "" : " (skipped: no rsync on the PATH; apt install rsync)";
const byRsync = { GATEHOUSE_SIDECAR_UPGRADE_SNAPSHOT: "rsync" };
const path = process.env["PATH"];

afterEach(() => {
  process.env["PATH"] = path;
});

/** Has copies be made by another program; returns what takes it away. */
async function replaceRsync(workspace: string, body: string): Promise<() => Promise<void>> {
  const bin = join(workspace, "other-programs");
  await mkdir(bin, { recursive: true });
  const program = join(bin, "rsync");
  await writeFile(program, `#!/bin/sh\n[ "$1" = --version ] && exec env PATH='${path}' rsync --version\n${body}\n`);
  await chmod(program, 0o755);
  process.env["PATH"] = `${bin}${delimiter}${path}`;
  return () => rm(program);
}

const workOf = ({ workspace }: Pick<FakeNode, "workspace">) => join(workspace, ".gatehouse-upgrade");

describe.skipIf(!isThere)(`an upgrade whose data are copied by rsync${skipped}`, () => {
  test("shows how long the node stands still, copies while it runs, and puts back the data that a new version ruined, as they were when the node was stopped", async () => {
    await using settled = await startSettledFake(byRsync);
    const { node, upkeep } = settled;
    const source = await node.release("0.16.2", "corrupting");
    const { printed } = await upgradeDevnet(upkeep, source, { dryRun: true });
    expect(printed).toContain("while it runs, by rsync");
    expect(printed).toContain("how long the node stands still depends on what changed meanwhile");
    const height = await readHeight(node);
    const failed = await upgradeDevnet(upkeep, source);
    expect(failed.printed).toContain("the node runs as 0.15.0 again, with its old data and old node.conf");
    expect(await node.version()).toBe("0.15.0");
    expect(await readFile(chainOf(node), "utf8")).toBe(oldBlocks);
    expect(await readHeight(node)).toBeGreaterThan(height);
    expect(upkeep.state.upgrade.get()?.before.height).toBeGreaterThanOrEqual(height);
    const messages = upkeep.events.list().map(({ message }) => message);
    expect(messages).toContain("The upgrade from 0.15.0 to 0.16.2 comes to the node.");
  });

  test("leaves the node as it is where the copy fails or is withdrawn: no stop, no hold, and nothing is left of it", async () => {
    await using settled = await startSettledFake({ ...byRsync, GATEHOUSE_SIDECAR_UPGRADE_LATE_MS: "1000" });
    const { node, upkeep } = settled;
    const source = await node.release("0.16.2", "good");
    const holders = createNodeProcesses({
      httpUrl: node.httpUrl,
      binDirectory: () => join(node.workspace, "bin"),
      processName: () => undefined,
    });
    const running = await holders.now();
    await replaceRsync(node.workspace, 'echo "rsync: no access" >&2; exit 23');
    const failed = await upgradeDevnet(upkeep, source);
    expect(failed.status).toBe(1);
    expect(failed.printed).toContain("did not begin");
    expect(failed.printed).toContain("rsync exited with status 23: rsync: no access");
    await upkeep.reason("UpgradeVerified", "NotStarted");
    expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
    expect(await readdir(workOf(node))).toEqual([]);
    const cancel = async () => {
      const { output, printed } = keepPrinted();
      expect(await runCancelCommand(findControl(upkeep), output)).toBe(0);
      return printed().printed;
    };
    expect(await cancel()).toContain("Canceled");
    await upkeep.reason("UpgradeVerified", "Canceled");
    await replaceRsync(node.workspace, "while :; do sleep 1; done");
    const copying = upgradeDevnet(upkeep, source);
    const { message } = await upkeep.reason("UpgradeVerified", "Preparing");
    expect(message).toContain("copying the data while the node runs (step 1 of 7)");
    expect(message).toContain("upgrade --cancel");
    expect((await upgradeDevnet(upkeep, source)).printed).toContain("problem: an upgrade is under way");
    expect(upkeep.board.get("NoRestartPending")?.reason).toBe("NoRestart");
    expect(await cancel()).toContain("copying the data while the node runs");
    expect((await copying).printed).toContain("it was withdrawn (gatehouse upgrade --cancel)");
    await upkeep.reason("UpgradeVerified", "Canceled");
    expect(await readdir(workOf(node))).toEqual([]);
    expect(await holders.now()).toEqual(running);
    expect(await cancel()).toContain("There is no upgrade to withdraw");
    // What becomes another one while it is copied is not the one that was agreed to.
    const takeAway = await replaceRsync(
      node.workspace,
      `echo changed >> ${source}/ops; PATH='${path}' exec rsync "$@"`,
    );
    expect((await upgradeDevnet(upkeep, source)).printed).toContain("are others than those that were agreed to");
    await takeAway();
    process.env["PATH"] = join(node.workspace, "other-programs");
    expect((await upgradeDevnet(upkeep, source, { dryRun: true })).printed).toContain(
      "install rsync (apt install rsync",
    );
  });

  test("goes on after a kill of the sidecar while the data are copied, and what still copied for it is ended", async () => {
    await using node = await createFakeNode();
    await node.install("0.15.0");
    await writeFile(join(node.workspace, "data", "chain"), "old blocks");
    await node.start();
    const source = await node.release("0.16.2", "good");
    const pidFile = join(node.workspace, "rsync.pid");
    const takeAway = await replaceRsync(node.workspace, `echo $$ > ${pidFile}; while :; do sleep 1; done`);
    const killed = startUpgradeProcess(node, { method: "rsync" });
    await until("the node is right", 120_000, async () => (await killed.ask())?.isRight);
    expect((await killed.ask({ source }))?.problems).toEqual([]);
    const pid = await until("rsync runs", 60_000, async () => readFile(pidFile, "utf8").catch(() => undefined));
    await killed.kill();
    expect(() => process.kill(Number(pid), 0)).not.toThrow();
    await takeAway();
    const sidecar = startUpgradeProcess(node, { method: "rsync" });
    const { words } = await until("the upgrade has ended", 240_000, async () => {
      const state = await sidecar.ask();
      return state?.end === "committed" ? state : undefined;
    });
    expect(words).toContain("is proved");
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
    expect(await readFile(join(node.workspace, "data", "chain"), "utf8")).toBe("old blocks");
    await sidecar.kill();
  }, 480_000);
});
