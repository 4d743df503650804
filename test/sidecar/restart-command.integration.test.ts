import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { expect, test } from "vitest";
import { desiredConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import type { Confirmation } from "#sidecar/upkeep/control/control-options.ts";
import { runRestartCommand } from "#sidecar/upkeep/control/restart-command.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";

async function restart(upkeep: RunningUpkeep, more: Partial<Confirmation> = {}) {
  const { output, printed } = captureOutput();
  const options = { yes: true, json: false, confirm: undefined, ...more };
  const status = await runRestartCommand(upkeep.target, options, output);
  return { status, ...printed() };
}

test("gatehouse restart shows its sidecar and restarts the node once the user confirms; waits, with the reason, if node.conf is a directory or a program is missing", async () => {
  await using node = await startFakeNode(desiredConfig);
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  await upkeep.reason("NoRestartPending", "NoRestart");
  const unasked = { status: 1, errors: "restart: nothing was changed. Without a terminal, pass --yes.\n" };
  expect(await restart(upkeep, { yes: false })).toMatchObject(unasked);
  const questions: string[] = [];
  const confirm = async (question: string) => questions.push(question) > 1;
  expect(await restart(upkeep, { yes: false, confirm })).toMatchObject({
    status: 1,
    errors: "restart: nothing was changed.\n",
  });
  const shown = await restart(upkeep, { yes: false, json: true });
  expect([shown.status, JSON.parse(shown.printed)]).toMatchObject([1, { result: "shown", node: {} }]);
  expect(await node.starts()).toBe(1);
  const done = await restart(upkeep, { yes: false, confirm });
  expect(done).toMatchObject({
    status: 0,
    errors: "",
    printed: expect.stringContaining("is restarting and verifying the node"),
  });
  expect(questions).toEqual(Array(2).fill("The node is unavailable while it restarts. Restart it now? [y/N] "));
  await upkeep.restarted(2);
  expect(upkeep.messages()).toContain("An operator requested a restart of the node.");
  const outcome = await restart(upkeep, { json: true });
  expect([outcome.status, JSON.parse(outcome.printed)]).toMatchObject([0, { result: "requested" }]);
  await upkeep.restarted(3);

  // The node must not be stopped if it can't be started with this node.conf, even if an operator requests it.
  const good = await node.config();
  await rm(node.configPath);
  await mkdir(node.configPath);
  await upkeep.reason("ConfigReconciled", "NotAFile");
  const { status, printed } = await restart(upkeep);
  expect(status).toBe(0);
  expect(printed).not.toContain("is restarting and verifying");
  expect(printed).toContain("can't start yet: the node can't start with the current node.conf (see ConfigReconciled).");
  const document = JSON.parse((await restart(upkeep, { json: true })).printed) as unknown;
  expect(document).toMatchObject({ result: "requested", waitsFor: expect.stringContaining("ConfigReconciled") });
  await upkeep.reason("NoRestartPending", "ConfigUnusable");
  expect(await node.starts()).toBe(3);
  await rmdir(node.configPath);
  await writeFile(node.configPath, good);
  await upkeep.restarted(4);

  await rename(join(node.binDirectory, "ops"), join(node.binDirectory, "ops-away"));
  await upkeep.reason("NoRestartPending", "ProgramMissing");
  const without = await restart(upkeep);
  expect(without.status).toBe(0);
  expect(without.printed).toMatch(/^The restart is requested but can't start yet: a required binary is missing/m);
});

test("rejects a restart while waiting for approval, observing, or unable to restart the node, and reports what to do", async () => {
  await using node = await startFakeNode();
  for (const [environment, result, words] of [
    [{ GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt" }, "waits", `approve it with ${formatOwnCommand(process.cwd())} adopt`],
    [{ GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" }, "observes", "upkeep.mode is observe"],
    [{ GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" }, "no-driver", "restart.driver is none"],
  ] as const) {
    await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2", ...environment });
    const rejected = await restart(upkeep);
    expect(rejected).toMatchObject({ status: 1, errors: expect.stringContaining("restart: ") });
    expect(rejected.errors).toContain(words);
    const outcome = await restart(upkeep, { json: true });
    expect([outcome.status, JSON.parse(outcome.printed)]).toMatchObject([1, { result }]);
  }
  expect(await node.starts()).toBe(1);
});
