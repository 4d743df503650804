import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { waitForReason, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { startOwnedNode, writeOwnedConfig } from "../support/node/owned-node.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** A sidecar in the test's own process. */
function runHere(node: FakeNode, more: Readonly<Record<string, string>> = {}) {
  return runSidecar(node, { GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops", ...more });
}

/** Reason why a sidecar doesn't start, in one line. */
async function rejectionOf(node: FakeNode, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const started = runHere(node, more);
  const message = await started.then(
    () => "it started",
    (error: Error) => error.message,
  );
  expect(message).not.toContain("\n");
  return message;
}

test("rejects another node's state, reports which node it belongs to, and does not change this node", async () => {
  await using devnet = await startOwnedNode("devnet");
  await using production = await startOwnedNode("production");
  const state = join(devnet.workspace, "state");
  const shared = { GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state };
  {
    await using first = await runHere(devnet, shared);
    await waitUntilSettled(first.urls["sidecar"]);
  }
  const configBefore = await production.config();
  const message = await rejectionOf(production, shared);
  expect(message).toContain(
    `the state in ${state} belongs to another node: ${devnet.configPath} (data ${devnet.workspace}/data,`,
  );
  expect(message).toContain(
    `this sidecar is configured for ${production.configPath} (data ${production.workspace}/data,`,
  );
  expect(message).toContain("GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY");
  expect(await production.config()).toBe(configBefore);
  expect(await production.starts()).toBe(1);
});

test("gives two sidecars started from one directory separate state, each in its node's workspace", async () => {
  await using devnet = await startOwnedNode("devnet");
  await using production = await startOwnedNode("production");
  const folder = await makeTestDirectory();
  const start = (node: FakeNode) => startService("sidecar", buildEnvironment(node), { cwd: folder });
  await using second = await start(production);
  await using first = await start(devnet);
  await waitUntilSettled(second.urls["sidecar"]);
  await waitUntilSettled(first.urls["sidecar"]);
  expect(await readFile(join(production.workspace, ".gatehouse/last-good.conf"), "utf8")).toContain('"production"');
  expect(await readFile(join(devnet.workspace, ".gatehouse/last-good.conf"), "utf8")).toContain('"devnet"');
});

test("rejects a second sidecar for the same state or node.conf while one is running; starts the next one after kill -9", async () => {
  await using node = await startOwnedNode("node-7");
  const first = await startService("sidecar", buildEnvironment(node));
  await waitUntilSettled(first.urls["sidecar"]);
  const elsewhere = { GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "elsewhere") };
  for (const environment of [{}, elsewhere]) {
    const message = await rejectionOf(node, environment);
    expect(message).toMatch(new RegExp(`process ${first.pid} on host \\S+, since \\d{4}-\\S+Z, `));
    expect(message).toContain(node.configPath);
  }
  expect(existsSync(elsewhere.GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY)).toBe(false);
  // A sidecar that writes nothing may observe the same node.
  {
    await using looking = await runHere(node, { ...elsewhere, GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" });
    await waitForReason(looking.urls["sidecar"], "ConfigReconciled", "Reconciled");
  }
  expect(await first.end("SIGKILL")).toBeNull();
  await using next = await runHere(node);
  await waitUntilSettled(next.urls["sidecar"]);
});

test("never restores backups of a different node, even if they are in this node's own state", async () => {
  await using devnet = await startOwnedNode("devnet");
  await using production = await startOwnedNode("production");
  // Both restarts time out, because no node responds afterwards.
  await using sidecar = await runHere(production, {
    GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "300",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "1000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "1000",
  });
  const url = sidecar.urls["sidecar"];
  await waitUntilSettled(url);
  const state = join(production.workspace, ".gatehouse");
  for (const slot of ["last-good.conf", "healthy.conf"]) await writeFile(join(state, slot), await devnet.config());
  await writeFile(production.configPath, '{ "chain": {');
  const brokenReason = await waitForReason(url, "ConfigReconciled", "Truncated");
  expect(brokenReason.message).toContain(
    `The last good copy in ${state} is not restored: storage.mygrid_env.storage_data_path is ${devnet.workspace}/data in the backup, but ${production.workspace}/data on the node.`,
  );
  await writeFile(production.configPath, writeOwnedConfig(production.workspace, "crash"));
  const held = await waitForReason(url, "NotPaused", "Paused");
  expect(held.message).toContain("did not recover after a restart");
  await until("the rollback has ended", generousMs, async () => {
    const { message } = await waitForReason(url, "NotPaused", "Paused");
    return message.includes("Another restart failed") && message;
  });
  expect((await waitForReason(url, "NotPaused", "Paused")).message).toContain(
    `The backup in ${state} was not restored: storage.mygrid_env.storage_data_path is ${devnet.workspace}/data in the backup`,
  );
  expect(await production.config()).toBe(writeOwnedConfig(production.workspace, "crash"));
});

test("claims nothing while node.conf is missing: delays pruning, reports what is missing, and accepts the next configured path as the node's", async () => {
  await using node = await startOwnedNode("node-7");
  const away = join(node.workspace, "elsewhere.conf");
  await rename(node.configPath, away);
  {
    await using first = await runHere(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
    const url = first.urls["sidecar"];
    await waitForReason(url, "ConfigReconciled", "FileMissing");
    // The public family's tool reads node.conf itself.
    const [reason, words] =
      testProfile === "pharos"
        ? ["Failed", "node_cli prune --get"]
        : ["Disabled", "Auto-pruning is off, and node.conf is invalid (see ConfigReconciled)"];
    expect((await waitForReason(url, "Pruning", reason)).message).toContain(words);
    expect(existsSync(join(node.workspace, "pruning"))).toBe(false);
  }
  {
    const { ops } = node.programs;
    await rename(ops, `${ops}-elsewhere`);
    await using waiting = await runHere(node, {
      GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt",
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "adopting"),
    });
    const { message } = await waitForReason(waiting.urls["sidecar"], "NotPaused", "WaitingForApproval");
    expect(message).toContain(`Not planned yet: ${node.configPath} is missing`);
    expect(message).toContain("The node can't be restarted: ./ops (ops.stop, ops.start) is missing");
    await rename(`${ops}-elsewhere`, ops);
  }
  await using next = await runHere(node, {
    GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: away,
    GATEHOUSE_SIDECAR_NODE_BIN_DIRECTORY: node.binDirectory,
  });
  await waitForReason(next.urls["sidecar"], "Pruning", "Enabled");
});

test("continues with a node whose data was moved while the sidecar was down once the operator removed its state", async () => {
  await using node = await startOwnedNode("node-7");
  {
    await using first = await runHere(node);
    await waitUntilSettled(first.urls["sidecar"]);
  }
  const moved = writeOwnedConfig(node.workspace, "node-7").replaceAll(
    `${node.workspace}/data`,
    `${node.workspace}/larger`,
  );
  await writeFile(node.configPath, moved);
  const state = join(node.workspace, ".gatehouse");
  expect(await rejectionOf(node)).toContain(`remove ${state}, start the sidecar and run gatehouse adopt`);
  await rm(state, { recursive: true });
  await using later = await runHere(node);
  await waitUntilSettled(later.urls["sidecar"]);
  expect(await node.config()).toBe(moved);
});
