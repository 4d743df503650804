import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRelease, type NewVersion } from "#devnet/testing/new-version.ts";
import { runUpgradeCommand } from "#sidecar/upkeep/control/upgrade-command.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#sidecar/testing/until.ts";
import { callRpc } from "../support/call-rpc.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "../support/devnet-workspace.ts";

const quick = {
  // Without --force it waits for the node's end: one that is killed loses blocks that it has not saved.
  GATEHOUSE_SIDECAR_OPS_STOP: '["./ops","stop"]',
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "30000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
  GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "500",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500",
};

/** Runs the command against the upkeep's own control. */
async function upgrade(upkeep: RunningUpkeep, source: string, more: Partial<{ dryRun: boolean; yes: boolean }> = {}) {
  let printed = "";
  let errors = "";
  const output = {
    out: (text: string) => void (printed += text),
    error: (text: string) => void (errors += text),
    isColored: false,
  };
  const options = { source, version: undefined, dryRun: false, yes: true, confirm: undefined, ...more };
  const target = { kind: "socket", stateDirectories: [upkeep.stateDirectory] } as const;
  const status = await runUpgradeCommand(target, options, output);
  return { status, printed, errors };
}

async function call<Result>({ httpUrl }: DevnetWorkspace, method: string, params: readonly unknown[] = []) {
  const { result, error } = await callRpc<Result>(httpUrl, method, params);
  if (result === undefined) throw new Error(`${method}: ${error?.message}`);
  return result;
}
const versionOf = async (node: DevnetWorkspace) =>
  (await call<{ binaryVersion: string }>(node, "debug_protocolVersion")).binaryVersion;
const hashOf = async (node: DevnetWorkspace, number: number) =>
  (await call<{ hash: string }>(node, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false])).hash;
const heightOf = async (node: DevnetWorkspace) => Number(await call<string>(node, "eth_blockNumber"));

/** A node of 0.15.0 under an upkeep that has nothing to do any more. */
async function startSettled() {
  const resources = new AsyncDisposableStack();
  const node = resources.use(await startDevnetWorkspace("0.15.0"));
  const upkeep = resources.use(await runUpkeep(node, quick));
  await upkeep.reason("AutoPruneOn", "On", 40_000);
  await upkeep.reason("RestartSettled", "Idle", 40_000);
  await upkeep.reason("ConfigCurrent", "AsDesired", 40_000);
  await until(
    () => heightOf(node),
    (height) => height > 3,
  );
  return { node, upkeep, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const restarts = ({ events }: RunningUpkeep) =>
  events.list().filter(({ message }) => message.startsWith("Restarting the node")).length;

const release = (node: DevnetWorkspace, kind: NewVersion) =>
  makeRelease(join(node.workspace, "releases", kind), "0.16.2", kind);

test("an upgrade is shown, refused without a word of yes, and then proved: version, blocks, node.conf, pruning; nothing is left behind", async () => {
  await using settled = await startSettled();
  const { node, upkeep } = settled;
  const source = await release(node, "good");
  const before = await readFile(node.configPath, "utf8");
  const shown = await upgrade(upkeep, source, { dryRun: true });
  expect(shown).toMatchObject({ status: 0, errors: "" });
  expect(shown.printed).toContain("from 0.15.0 to 0.16.2");
  expect(shown.printed).toContain("enable_pamir_cetina renamed to storage_enable_cetina");
  expect(shown.printed).toContain("there is no way back to the old data");
  expect(await upgrade(upkeep, source, { yes: false })).toMatchObject({
    status: 1,
    errors: "upgrade: nothing was changed. Without a terminal, say --yes.\n",
  });
  expect(await versionOf(node)).toContain("0.15.0");
  expect(await readFile(node.configPath, "utf8")).toBe(before);
  const [hash, height] = [await hashOf(node, 2), await heightOf(node)];
  const restartsBefore = restarts(upkeep);
  const done = await upgrade(upkeep, source);
  expect(done.printed).toContain("The upgrade from 0.15.0 to 0.16.2 is proved.");
  expect(done).toMatchObject({ status: 0, errors: "" });
  expect(await versionOf(node)).toContain("0.16.2");
  expect(await hashOf(node, 2)).toBe(hash);
  expect(await heightOf(node)).toBeGreaterThan(height);
  expect(await readFile(node.configPath, "utf8")).toContain("storage_enable_cetina");
  expect((await upkeep.reason("UpgradeProved", "Proved")).status).toBe("True");
  expect(await readdir(join(node.workspace, ".gatehouse-upgrade"))).toEqual([]);
  // The keys are those of the new version already: no second restart for them.
  await upkeep.reason("RestartSettled", "Idle", 20_000);
  await upkeep.reason("AutoPruneOn", "On", 20_000);
  expect(restarts(upkeep)).toBe(restartsBefore);
  expect((await upgrade(upkeep, source)).printed).toContain("problem: the node is 0.16.2 already");
});

test.each(["broken", "corrupting"] as const)(
  "a %s version is taken back: programs, data and node.conf of before, proved, and held",
  async (kind) => {
    await using settled = await startSettled();
    const { node, upkeep } = settled;
    const before = await readFile(node.configPath, "utf8");
    const programs = await readFile(join(node.workspace, "bin", "ops"), "utf8");
    const [hash, height] = [await hashOf(node, 2), await heightOf(node)];
    const failed = await upgrade(upkeep, await release(node, kind));
    expect(failed.printed).toContain("the node runs as 0.15.0 again, with its data and node.conf of before");
    expect(failed.status).toBe(1);
    expect(await versionOf(node)).toContain("0.15.0");
    expect(await hashOf(node, 2)).toBe(hash);
    expect(await heightOf(node)).toBeGreaterThan(height);
    expect(await readFile(node.configPath, "utf8")).toBe(before);
    expect(await readFile(join(node.workspace, "bin", "ops"), "utf8")).toBe(programs);
    expect(await readdir(join(node.workspace, "bin"))).not.toContain("release.json");
    const condition = await upkeep.reason("UpgradeProved", "RolledBack");
    expect(condition).toMatchObject({ status: "False" });
    expect((await upkeep.reason("Unheld", "Held")).message).toContain("was taken back");
    expect((await upgrade(upkeep, await release(node, "good"))).printed).toContain("problem: a hold is in force");
    expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_upgrades_total{end="rolled-back"} 1');
  },
);
