import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runResumeCommand } from "#sidecar/upkeep/control/resume-command.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startUpkeepProcess } from "../support/upkeep-process.ts";
import {
  another,
  bad,
  forgetState,
  startReconciledNode,
  startUnknownNode,
  half,
  replaceOps,
  patient,
  waitForRestarts,
  version,
} from "./restarts-at-night/reconciled-node.ts";

test("restores the node.conf intended for the restart if another program leaves a half-written file during it, without pausing", async () => {
  const { node, good } = await startReconciledNode();
  await using _ = node;
  await writeFile(join(node.workspace, "half.conf"), half(good));
  const once = join(node.workspace, "once");
  const stop = await replaceOps(
    node,
    `if [ "$1" = stop ] && [ ! -e ${once} ]; then touch ${once}; ./ops-itself "$@"; cp ${node.workspace}/half.conf ${node.configPath}; exit 0; fi`,
  );
  await using upkeep = await runUpkeep(node, { ...patient, ...stop });
  await upkeep.reason("NoRestartPending", "NoRestart");
  const proved = upkeep.events.list().filter(({ message }) => message.startsWith("The node recovered")).length;
  await writeFile(node.configPath, another(good));
  await waitForRestarts(upkeep, proved + 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await readFile(node.configPath, "utf8")).toBe(another(good));
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
  expect(upkeep.messages()).toContain("node.conf became invalid during the restart: the intended version is restored.");
});

test("restores the last configuration that ran after an edit that breaks startup, even if no sidecar has ever restarted the node", async () => {
  const { node, good } = await startReconciledNode();
  await using _ = node;
  await forgetState(node);
  await using upkeep = await runUpkeep(node, { ...patient, GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500" });
  // On a busy machine, one check may be inconclusive; the next one follows half a minute later.
  const kept = await upkeep.reason("RollbackReady", "Ready");
  expect(kept.message).toBe(
    `A failed restart is rolled back to the verified configuration, ${join(upkeep.stateDirectory, "healthy.conf")}.`,
  );
  expect(upkeep.events.list().filter(({ kind }) => kind === "restart")).toEqual([]);
  await writeFile(node.configPath, bad(good));
  await upkeep.message("NotPaused", "It recovered after one more restart.", 50_000);
  expect(await readFile(node.configPath, "utf8")).toBe(good);
  await upkeep.reason("RpcResponding", "Responding");
});

test("after a restart and its rollback both failed, retries on resume once the cause is fixed, and reports it", async () => {
  const { node, good } = await startReconciledNode();
  await using _ = node;
  await using upkeep = await runUpkeep(node, patient);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const key = resolve(
    dirname(node.configPath),
    (JSON.parse(good) as { chain: { secret_config: { domain_key_path: string } } }).chain.secret_config.domain_key_path,
  );
  await rename(key, `${key}.gone`);
  await writeFile(node.configPath, another(good));
  await upkeep.message("NotPaused", "Another restart failed", 50_000);
  await upkeep.reason("RpcResponding", "ConnectionRefused");
  await rename(`${key}.gone`, key);
  const { output, printed } = captureOutput();
  expect(await runResumeCommand(upkeep.target, output)).toBe(0);
  expect(printed().printed).toMatch(
    /^Gatehouse resumed on .*\. It was paused since .*\nThe failed restart of the node is retried \(.*\)\.\n$/s,
  );
  const runningReason = await upkeep.reason("NoRestartPending", "Running");
  expect(runningReason.message).toMatch(
    /^(Restarting the node: gatehouse resume was run, so the failed restart is retried: |The node is being restarted)/,
  );
  await upkeep.reason("RpcResponding", "Responding");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
  expect(upkeep.messages()).toContainEqual(
    expect.stringMatching(/^Gatehouse resumed: gatehouse resume was run\. The failed restart of the node is retried/),
  );
  expect(upkeep.state.retry.get()).toBeUndefined();
});

test("killed during a restart, with a node.conf half written by another program: writes the last good one, then starts the node", async () => {
  const { node, good } = await startReconciledNode();
  await using _ = node;
  const stoppedPath = join(node.workspace, "stopped");
  const stop = await replaceOps(
    node,
    `if [ "$1" = stop ]; then ./ops-itself "$@"; touch ${stoppedPath}; sleep 1; exit 0; fi`,
  );
  const killedProcess = startUpkeepProcess(node, "ops", stop);
  await killedProcess.right();
  await writeFile(node.configPath, another(good));
  await readUntil(() => existsSync(stoppedPath), Boolean);
  await killedProcess.kill();
  const last = await readFile(node.configPath, "utf8");
  await writeFile(node.configPath, half(last));
  await using upkeep = await runUpkeep(node, { ...patient, ...stop, GATEHOUSE_SIDECAR_NODE_VERSION: version });
  await upkeep.reason("RpcResponding", "Responding");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await readFile(node.configPath, "utf8")).toBe(last);
  expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
});

test("keeps the node running after an edit that lint rejects or that names a missing key file", async () => {
  const { node, good } = await startUnknownNode();
  await using _node = node;
  await using upkeep = await runUpkeep(node, patient);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  for (const [edited, words] of [
    [
      good.replace(/"http_port": "(\d+)"/, '"http_port": "$1x"'),
      /(?:node|pharos)\.conf:\d+:\d+ chain\.startup_config\.init_config\.http_port is "\d+x"; expected a port from 1 to 65535 as a string\. To fix it, write the port as a string, e\.g\. "18100"\./,
    ],
    [
      good.replace(/"domain_key_path": "([^"]*)"/, '"domain_key_path": "$1.typo"'),
      /chain\.secret_config\.domain_key_path: \S+\.typo does not exist\. Correct the path, or create the file\./,
    ],
  ] as const) {
    await writeFile(node.configPath, edited);
    const { message } = await upkeep.reason("NoRestartPending", "EditRejected");
    expect(message).toMatch(words);
    expect(message).toContain("The node keeps running with the version it loaded. Correct node.conf;");
    expect(upkeep.board.get("RpcResponding")?.reason).toBe("Responding");
    await writeFile(node.configPath, good);
    await upkeep.reason("NoRestartPending", "NoRestart");
  }
  expect(upkeep.events.list().filter(({ kind }) => kind === "restart")).toEqual([]);
});
