import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { waitForReason } from "#sidecar/testing/sidecar-status.ts";
import { startService } from "../support/service-process.ts";
import {
  another,
  bad,
  forgetState,
  startReconciledDevnet,
  replaceOps,
  patient,
  waitForRestarts,
  version,
} from "./restarts-at-night/reconciled-node.ts";

test("rolls back even an edit that only moves the data or a key", async () => {
  const { node, good } = await startReconciledDevnet();
  await using _ = node;
  await using upkeep = await runUpkeep(node, patient);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const elsewhere = bad(good).replace(/"storage_data_path": "[^"]*"/, '"storage_data_path": "../elsewhere"');
  await writeFile(node.configPath, elsewhere);
  await upkeep.message("NotPaused", "It recovered after one more restart.", 50_000);
  expect(await readFile(node.configPath, "utf8")).toBe(good);
});

test("does not mistake edits made after the node started for its running configuration, and keeps the earlier content", async () => {
  const { node, good } = await startReconciledDevnet();
  await using _ = node;
  await forgetState(node);
  await writeFile(node.configPath, another(good));
  await using upkeep = await runUpkeep(node, { ...patient, GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200" });
  const { message } = await upkeep.reason("RollbackReady", "Assumed");
  expect(message).toContain("It is unverified: it changed after the node's start");
  await node.restart();
  await upkeep.reason("RollbackReady", "Ready");
  await writeFile(node.configPath, another(good, 2));
  await waitForRestarts(upkeep, 1);
  const versions = join(upkeep.stateDirectory, "versions");
  const texts = await Promise.all((await readdir(versions)).map((name) => readFile(join(versions, name), "utf8")));
  expect(texts).toContain(another(good));
});

test("starts the node before it exits if it is stopped during a slow node stop", async () => {
  const { node, good } = await startReconciledDevnet();
  await using _ = node;
  const stopped = join(node.workspace, "stopped");
  const stop = await replaceOps(
    node,
    `if [ "$1" = stop ] && [ ! -e ${stopped} ]; then ./ops-itself "$@"; touch ${stopped}; sleep 8; exit 0; fi`,
  );
  const sidecar = await startService("sidecar", {
    ...buildEnvironment(node, stop),
    GATEHOUSE_SIDECAR_NODE_VERSION: version,
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  });
  await waitForReason(sidecar.urls["sidecar"], "NoRestartPending", "NoRestart");
  await writeFile(node.configPath, another(good));
  await readUntil(() => existsSync(stopped), Boolean);
  expect(await sidecar.end("SIGTERM", 40_000)).toBe(0);
  // The sidecar started the node before it exited.
  await readUntil(() => isResponding(node.httpUrl), Boolean);
});

async function isResponding(url: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body }).then(
    ({ ok }) => ok,
    () => false,
  );
}
