import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import type { Agreement } from "#sidecar/upkeep/control/agreement.ts";
import { runRestartCommand } from "#sidecar/upkeep/control/restart-command.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { keepPrinted, findControl } from "../support/node/settled-devnet.ts";

async function restart(upkeep: RunningUpkeep, more: Partial<Agreement> = {}) {
  const { output, printed } = keepPrinted();
  const options = { yes: true, json: false, confirm: undefined, ...more };
  const status = await runRestartCommand(findControl(upkeep), options, output);
  return { status, ...printed() };
}

test("gatehouse restart restarts the node once somebody agrees, and says who is asked first", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  // The first look has a correction to make, and restarts for it.
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const unasked = { status: 1, errors: "restart: nothing was done. Without a terminal, say --yes.\n" };
  expect(await restart(upkeep, { yes: false })).toMatchObject(unasked);
  const questions: string[] = [];
  const confirm = async (question: string) => questions.push(question) > 1;
  expect(await restart(upkeep, { yes: false, confirm })).toMatchObject({
    status: 1,
    errors: "restart: nothing was done.\n",
  });
  const shown = await restart(upkeep, { yes: false, json: true });
  expect([shown.status, JSON.parse(shown.printed)]).toMatchObject([1, { result: "shown", node: {} }]);
  expect(await node.starts()).toBe(2);
  const done = await restart(upkeep, { yes: false, confirm });
  expect(done).toMatchObject({ status: 0, errors: "", printed: expect.stringContaining("restarts the node now") });
  expect(questions).toEqual(Array(2).fill("It serves nobody while it restarts. Restart it now? [y/N] "));
  await readUntil(node.starts, (starts) => starts === 3);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.events.list().map(({ message }) => message)).toContain("A person requested a restart of the node.");
  const outcome = await restart(upkeep, { json: true });
  expect([outcome.status, JSON.parse(outcome.printed)]).toMatchObject([0, { result: "asked" }]);
  await readUntil(node.starts, (starts) => starts === 4);
});

test("no node is stopped to be started with a node.conf that is a directory, although a person requests it", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const good = await node.config();
  await rm(node.configPath);
  await mkdir(node.configPath);
  await upkeep.reason("ConfigValid", "NotAFile");
  const { status, printed } = await restart(upkeep);
  expect(status).toBe(0);
  expect(printed).not.toContain("restarts the node now");
  expect(printed).toContain(
    "can't begin yet: the node can't start with node.conf as it is (ConfigValid says how it is put right).",
  );
  const document = JSON.parse((await restart(upkeep, { json: true })).printed) as unknown;
  expect(document).toMatchObject({ result: "asked", waitsFor: expect.stringContaining("ConfigValid") });
  await upkeep.reason("NoRestartPending", "ConfigUnusable");
  expect(await node.starts()).toBe(2);
  await rmdir(node.configPath);
  await writeFile(node.configPath, good);
  await readUntil(node.starts, (starts) => starts === 3);
  await upkeep.reason("NoRestartPending", "NoRestart");
});

test("a restart that is requested while the program that makes it is gone says so, and waits", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await rename(join(node.binDirectory, "ops"), join(node.binDirectory, "ops-away"));
  await upkeep.reason("NoRestartPending", "ProgramMissing");
  const { status, printed } = await restart(upkeep);
  expect(status).toBe(0);
  expect(printed).toMatch(/^The restart is requested, but can't begin yet: a program that it takes is not there/m);
});

test.each([
  ["waits for a word to act", { GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt" }, "waits", "let it by gatehouse adopt"],
  ["only looks", { GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" }, "observes", "upkeep.mode is observe"],
  ["can't restart it", { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" }, "no-driver", "restart.driver is none"],
])("a sidecar that %s does not restart the node, and says what to do", async (_, environment, result, words) => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2", ...environment });
  const starts = await node.starts();
  expect(await restart(upkeep)).toMatchObject({ status: 1, errors: expect.stringContaining(`restart: `) });
  expect((await restart(upkeep)).errors).toContain(words);
  const outcome = await restart(upkeep, { json: true });
  expect([outcome.status, JSON.parse(outcome.printed)]).toMatchObject([1, { result }]);
  expect(await node.starts()).toBe(starts);
});
