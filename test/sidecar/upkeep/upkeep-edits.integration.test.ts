import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";
import { runPlanCommand } from "#sidecar/upkeep/plan-command.ts";
import { desiredConfig, startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { readUntil } from "#daemon/testing/until.ts";

const secret = "correct-horse-battery-staple";
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** Waits until a sidecar has nothing left to do, and then until it has checked node.conf again. */
async function settle(upkeep: RunningUpkeep): Promise<void> {
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await upkeep.passes(2);
}

/** Lists the log lines about changes made by others. */
function listEdits({ audited }: RunningUpkeep): readonly AuditEntry[] {
  expect(JSON.stringify(audited)).not.toContain(secret);
  return audited.filter(({ action }) => action === "node-conf-edited");
}

async function addKey(node: FakeNode, key: string): Promise<Readonly<{ before: string; after: string }>> {
  const configBefore = await node.config();
  const after = configBefore.replace('"storage": {', `"storage": { "${key}": "${secret}", `);
  await node.save(after);
  return { before: configBefore, after };
}

/** The log line about an edit that added a key. */
const lineOf = ({ before, after }: Readonly<{ before: string; after: string }>, key: string) => ({
  outcome: "success",
  by: "somebody else",
  message: `node.conf was changed by another program or user: storage.${key} added.`,
  before: { sha256: hashOf(before) },
  after: { sha256: hashOf(after) },
});

test("logs one line for an external edit, even one made while the sidecar was down, but none for the sidecar's own writes", async () => {
  await using node = await startFakeNode();
  const environment = { GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100" };
  const start = () => runUpkeep(node, environment);
  let first;
  {
    await using upkeep = await start();
    await readUntil(node.starts, (starts) => starts === 2);
    await settle(upkeep);
    expect(listEdits(upkeep), "the sidecar's own correction").toEqual([]);
    first = await addKey(node, "first");
    await readUntil(
      () => listEdits(upkeep),
      (edits) => edits.length > 0,
    );
    await settle(upkeep);
    expect(listEdits(upkeep)).toMatchObject([lineOf(first, "first")]);
    expect(upkeep.events.list()).toContainEqual(expect.objectContaining({ kind: "edit" }));
  }
  const second = await addKey(node, "second");
  for (const [which, edits] of [
    ["that follows the edit", [lineOf(second, "second")]],
    ["after that", []],
  ] as const) {
    await using upkeep = await start();
    await settle(upkeep);
    expect(listEdits(upkeep), `the start ${which}`).toMatchObject(edits);
  }
});

test("logs an unusable node.conf left while the sidecar was down before restoring the last good content", async () => {
  const good = desiredConfig;
  await using node = await startFakeNode(good);
  const environment = { GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "50" };
  {
    await using upkeep = await runUpkeep(node, environment);
    await settle(upkeep);
  }
  const broken = good.slice(0, good.length / 2);
  await node.save(broken);
  await using upkeep = await runUpkeep(node, environment);
  await readUntil(node.config, (text) => text === good);
  expect(listEdits(upkeep)).toMatchObject([
    {
      by: "somebody else",
      message: expect.stringContaining("was changed by another program or user and is invalid") as string,
      before: { sha256: hashOf(good) },
      after: { sha256: hashOf(broken) },
    },
  ]);
  await readUntil(upkeep.events.list, (events) => events.some(({ kind }) => kind === "write"));
});

test("restores a lost monitor_config with the values of the last healthy run, not the defaults", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100" });
  await readUntil(node.starts, (starts) => starts === 2);
  await settle(upkeep);
  const configBefore = await node.config();
  const lost = JSON.parse(configBefore.replace(/\/\/.*/, "")) as {
    chain: { monitor_config?: Record<string, unknown> };
  };
  const { monitor_config: values, ...chain } = lost.chain;
  const restartEvents = () => upkeep.events.list().filter(({ kind }) => kind === "restart");
  const { length } = restartEvents();
  await node.save(JSON.stringify({ ...lost, chain }));
  await readUntil(node.config, (text) => text.includes("monitor_config"));
  const back = JSON.parse(await node.config()) as typeof lost;
  expect(back.chain.monitor_config).toEqual(values);
  expect(values).toMatchObject({ storage_cetina_job_name: "node-7", storage_cetina_push_interval: 5 });
  // Waits for a restart, or for the report that none is needed.
  await readUntil(restartEvents, (events) => events.length > length);
  await settle(upkeep);
  // The sidecar leaves the file alone while another program has its lock.
  await rm(join(dirname(node.configPath), `.${basename(node.configPath)}.lock`));
  using lock = createWriterLock(node.configPath);
  lock.acquire();
  const { storage_cetina_job_name: _, ...others } = values ?? {};
  await node.save(JSON.stringify({ ...lost, chain: { ...chain, monitor_config: others } }));
  await upkeep.reason("ConfigReconciled", "Locked");
  const response = await upkeep.upkeep.control.upgrade({
    source: await node.release("0.16.3", "good"),
    version: "0.16.3",
  });
  expect(JSON.stringify(response)).toMatch(/storage_cetina_job_name[^,;]*node-7/);
  const { output, printed } = captureOutput();
  const options = { configPath: node.configPath, nodeVersion: "0.16.2", json: false, write: false };
  const settings = readSettings(sidecarSettings, { env: {} });
  const stateDirectories = [join(node.workspace, "none"), upkeep.stateDirectory];
  expect(await runPlanCommand({ ...options, stateDirectories }, settings, output)).toBe(2);
  expect(printed().printed).toMatch(/storage_cetina_job_name[^,;]*node-7/);
});
