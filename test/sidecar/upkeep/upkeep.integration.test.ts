import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

test.concurrent("corrects drift on disk and restarts the node with the result", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node);
  const running = await readUntil(node.running, (text) => text.includes('"storage_cetina_job_name": "node-7"'));
  expect(running).toContain("// the operator's own words");
  expect(running).toContain("12345678901234567890");
  expect(running).not.toContain("pamir");
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("Pruning", "Enabled");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(await node.starts()).toBe(2);
  expect(upkeep.messages()).toContainEqual(expect.stringMatching(/The node recovered and advances after \d+ ms\./));
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  const written = {
    outcome: "success",
    by: "sidecar",
    before: { sha256 },
    after: { sha256: hashOf(running) },
  };
  const { audited } = upkeep;
  const writes = audited.filter(({ action }) => action === "node-conf-written");
  // If another test's node runs on this machine, the sidecar reports it once.
  const restarts = audited.filter(
    ({ action, message }) => action === "node-restart" && !message.startsWith("Another node runs on this machine"),
  );
  expect(writes.length).toBeGreaterThan(1);
  // The first write is recorded before the file is replaced, so its outcome is not known yet.
  expect(writes).toMatchObject(writes.map((_, at) => (at === 0 ? { ...written, outcome: "unknown" } : written)));
  expect(restarts).toMatchObject([
    { outcome: "unknown", message: expect.stringMatching(/^Restarting/) },
    { outcome: "success", message: expect.stringMatching(/^The node recovered/) },
  ]);
});

/** Reported cause for a node that exits at startup; a public-family start command does not wait for that. */
const endedAtStart = testProfile === "pharos" ? "its process exited" : "node exited with 3";

test.concurrent("restores the last healthy configuration of a node that does not recover, and pauses", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node);
  await upkeep.restarted(2);
  const healthyConfig = await node.config();
  await writeFile(node.configPath, healthyConfig.replace("12345678901234567890", '"crash"'));
  await upkeep.reason("NotPaused", "Paused");
  await readUntil(node.config, (text) => text === healthyConfig);
  const held = await upkeep.message("NotPaused", "It recovered after one more restart.");
  expect(held).toContain(endedAtStart);
  expect(held).toContain("Its last healthy configuration was restored.");
  const [, key = "", copy = ""] = /The failed edit: (\S+) changed; it is saved in (\S+)\. /.exec(held) ?? [];
  expect(key).not.toBe("");
  expect(await readFile(copy, "utf8")).toContain('"crash"');
  expect(await node.running()).toBe(healthyConfig);
  // The order of this event varies: pruning is switched on again after a restart.
  const lines = upkeep.audited.filter(({ action }) => action !== "auto-pruning-switched-on");
  const auditedLines = lines.map(({ action, outcome }) => [action, outcome]);
  expect(auditedLines.slice(-9)).toEqual([
    ["node-conf-edited", "success"],
    ["node-restart", "unknown"],
    ["node-restart", "failure"],
    ["hold-changed", "unknown"],
    ["node-conf-written", "unknown"],
    ["node-conf-written", "success"],
    ["node-rolled-back", "unknown"],
    ["node-restart", "unknown"],
    ["hold-changed", "success"],
  ]);
  expect(lines.at(-7)?.reason).toContain(endedAtStart);
});

test.concurrent("reports the line and column of a half-written node.conf, then restores the last good one", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "300" });
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const good = await node.config();
  await upkeep.reason("NoRestartPending", "NoRestart");
  await writeFile(node.configPath, good.slice(0, good.indexOf('"startup_config"') + 20));
  const condition = await upkeep.reason("ConfigReconciled", "Truncated");
  expect(condition.message).toMatch(
    /:\d+:\d+ is incomplete JSON .*The last good version stays active; it is restored at \S+Z unless/,
  );
  expect(condition.message).toContain(`${node.configPath}:`);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(await readFile(node.configPath, "utf8")).toBe(good);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(2);
});
