import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createOpsNode, type OpsNode } from "#sidecar/testing/ops-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startUpkeepProcess } from "../../../support/upkeep-process.ts";

/** Secrets of the sidecar, and a variable that a node needs. */
beforeAll(() => {
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "secret-of-the-sidecar");
  vi.stubEnv("NODE_PASSWORD_FOR_TEST", "secret-of-the-node");
  vi.stubEnv("OTHER_SECRET_FOR_TEST", "secret-of-another");
});
afterAll(() => vi.unstubAllEnvs());

/** node.conf drifts, so that the first reconcile corrects it and restarts the node. */
const settings = { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" };

async function startOpsNode(exitsAfterMs: number | "never" = 0): Promise<OpsNode> {
  const node = await createOpsNode();
  await node.exitsAfter(exitsAfterMs);
  await node.start();
  return node;
}

const read = (node: OpsNode, name: string) => readFile(join(node.workspace, name), "utf8").catch(() => "");
const listEvents = (upkeep: RunningUpkeep) => upkeep.messages();
const isAlive = (pid: number) => pid > 0 && process.kill(pid, 0);

async function settle(node: OpsNode, upkeep: RunningUpkeep, starts = 2): Promise<void> {
  await upkeep.restarted(starts);
}

/** Waits until the node has printed so much that a pipe without a reader would have killed it. */
async function waitForLines(node: OpsNode): Promise<void> {
  const before = await node.printed();
  await readUntil(node.printed, (printed) => printed > before + 10);
}

test.concurrent("keeps a node that prints output running after its restart, and writes the output to a file in the state directory", async () => {
  await using node = await startOpsNode();
  await using upkeep = await runUpkeep(node, settings);
  await settle(node, upkeep);
  await waitForLines(node);
  expect(isAlive(await node.pid())).toBe(true);
  const printedFile = await readFile(join(upkeep.stateDirectory, "output/ops-start.out.log"), "utf8");
  expect(printedFile).toMatch(/^Starting\n/);
  expect(printedFile).toContain("block\nblock\n");
});

test.concurrent("does not mistake an old process that exits slowly for a verified restart: starts the new one afterwards, and keeps no configuration that no node has run", async () => {
  await using node = await startOpsNode(700);
  await using upkeep = await runUpkeep(node, { ...settings, GATEHOUSE_SIDECAR_OPS_STOP: '["./ops","stop"]' });
  await settle(node, upkeep);
  expect(await read(node, "locked.log"), "starts next to the old process").toBe("");
  const healthyConfig = await node.config();
  await node.save(healthyConfig.replace('"18100"', '"18100", "crash": 1'));
  const { message } = await upkeep.reason("NotPaused", "Paused");
  await readUntil(
    () => upkeep.board.get("NotPaused")?.message ?? message,
    (text) => text.includes("It recovered after one more restart."),
  );
  expect(await node.config()).toBe(healthyConfig);
  expect(await readFile(join(upkeep.stateDirectory, "healthy.conf"), "utf8")).toBe(healthyConfig);
  expect(await read(node, "locked.log")).toBe("");
});

test.concurrent("kills a node that does not exit after SIGTERM and reports it, and restarts a node that finds its data locked", async () => {
  await using node = await startOpsNode("never");
  await using upkeep = await runUpkeep(node, { ...settings, GATEHOUSE_SIDECAR_OPS_STOP_TIMEOUT_SECONDS: "1" });
  await settle(node, upkeep);
  expect(await read(node, "locked.log")).toMatch(/^x+$/);
  expect(listEvents(upkeep)).toContain(
    "The node did not exit within 1 s of SIGTERM, and was stopped by `./ops stop --force`.",
  );
  expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
});

test.concurrent("stops only its own node if two sidecars on one machine each stop theirs, even at the same time", async () => {
  await using node = await startOpsNode(100);
  await using other = await node.addNeighbour();
  await other.exitsAfter(100);
  await other.start();
  await using upkeep = await runUpkeep(node, settings);
  await using otherUpkeep = await runUpkeep(other, settings);
  await Promise.all([settle(node, upkeep), settle(other, otherUpkeep)]);
  const pid = await other.pid();
  expect(upkeep.upkeep.control.restart()).toMatchObject({ result: "requested" });
  await settle(node, upkeep, 3);
  await waitForLines(other);
  expect([await other.pid(), await other.starts()]).toEqual([pid, 2]);
  for (const { workspace } of [node, other]) {
    expect(await readFile(join(workspace, "ops.log"), "utf8")).not.toContain("stop");
  }
  const said = listEvents(upkeep).filter((message) => message.startsWith("Another node runs on this machine"));
  expect(said).toHaveLength(1);
});

const foreground = (name: string) => `#!/bin/sh\n[ "$1" = stop ] || exec ./${name} node-process.cjs\n`;

test.concurrent("leaves a foreground start command running once the height advances, reports it, and can stop and start the node as usual", async () => {
  await using node = await startOpsNode();
  await writeFile(join(node.binDirectory, "ops"), foreground(node.name));
  await using upkeep = await runUpkeep(node, { ...settings, GATEHOUSE_SIDECAR_RESTART_TIMEOUT_MS: "15000" });
  await settle(node, upkeep);
  await waitForLines(node);
  expect(await node.starts()).toBe(2);
  expect(listEvents(upkeep)).toContain(
    "`./ops start --config ./node.conf` (ops.start) does not exit although the node is running; it was left running. Set ops.start to a command that starts the node in the background.",
  );
  expect(upkeep.upkeep.control.restart()).toMatchObject({ result: "requested" });
  await settle(node, upkeep, 3);
});

test.concurrent("leaves a node that it started in the foreground running after the sidecar exits", async () => {
  await using node = await startOpsNode();
  await writeFile(join(node.binDirectory, "ops"), foreground(node.name));
  const upkeep = startUpkeepProcess(node, "ops");
  await upkeep.right();
  await upkeep.kill();
  await waitForLines(node);
  expect(isAlive(await node.pid())).toBe(true);
  expect(await node.starts()).toBe(2);
});

test.concurrent("passes its secrets neither to the node nor to any program, but passes on the variables listed in one setting", async () => {
  await using node = await startOpsNode();
  const tool = join(node.binDirectory, "node_cli");
  await writeFile(tool, (await readFile(tool, "utf8")).replace("\n", "\nenv >>../tool.env\n"));
  await chmod(tool, 0o755);
  // Removes the record of the process that the test itself started.
  await rm(join(node.workspace, "programs.env"));
  await using upkeep = await runUpkeep(node, {
    ...settings,
    GATEHOUSE_SIDECAR_NODE_ENVIRONMENT: "NODE_PASSWORD_FOR_TEST",
  });
  await settle(node, upkeep);
  await node.save((await node.config()).replace("12345678901234567890", "12345678901234567891"));
  await settle(node, upkeep, 3);
  const texts = await Promise.all(["programs.env", "tool.env"].map((name) => read(node, name)));
  for (const text of [...texts, JSON.stringify(await node.environment())]) {
    expect(text).toContain("secret-of-the-node");
    expect(text).toContain(process.env["PATH"]);
    expect(text).not.toMatch(/secret-of-the-sidecar|secret-of-another|GATEHOUSE_/);
  }
});
