import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startDevnetWorkspace } from "../../support/node/devnet-workspace.ts";

const monitorOf = async (path: string) =>
  (JSON.parse(await readFile(path, "utf8")) as { chain: { monitor_config: object } }).chain.monitor_config;

test("follows the moved layout of an upgrade from 0.10 to 0.16: migrates and restarts once the new version runs", async () => {
  await using node = await startDevnetWorkspace("0.10.3");
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "2000",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500",
  });
  await upkeep.reason("Pruning", "Enabled");
  // While the version is unknown, no restart is due.
  await readUntil(upkeep.messages, (messages) =>
    messages.some((message) => message.startsWith("The node recovered and advances")),
  );
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(node.configPath).toBe(join(node.workspace, "node", "domain", "client", "bin", "node.conf"));
  expect(await monitorOf(node.configPath)).toMatchObject({ pamir_cetina_job_name: "node-7" });
  const moved = await node.install("0.16.2");
  expect(moved).toBe(join(node.workspace, "bin", "node.conf"));
  expect(await monitorOf(moved)).toMatchObject({ pamir_cetina_job_name: "node-7" });
  // The sidecar detects a half-finished upgrade only if node_cli reports its version.
  if (testProfile === "standard") await upkeep.reason("VersionConsistent", "Mismatch");
  await node.restart();
  await readUntil(
    () => monitorOf(moved),
    (monitor) => "storage_cetina_job_name" in monitor,
  );
  expect(await monitorOf(moved)).toMatchObject({ storage_enable_cetina: true, storage_cetina_job_name: "node-7" });
  await upkeep.reason("Pruning", "Enabled");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.board.get("ConfigReconciled")?.message).toBe(`${moved} matches the desired configuration.`);
  await upkeep.reason("VersionConsistent", "Consistent");
  expect(upkeep.events.list()).toContainEqual(
    expect.objectContaining({ kind: "version", message: "The node's version changed from 0.10.3 to 0.16.2." }),
  );
});
