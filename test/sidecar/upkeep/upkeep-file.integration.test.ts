import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { driftedConfig, startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** Nothing is restarted here: these tests are about the file. */
const noRestart = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" };

/** A node whose start nothing shows, so that it may have read what stood in node.conf for a moment: no driver says it, and its programs are elsewhere. */
function hideProcess(node: FakeNode): Readonly<Record<string, string>> {
  const restart = ["sh", "-c", `./ops stop --force; exec ./ops start --config ./${basename(node.configPath)}`];
  return {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_NODE_BIN_DIRECTORY: join(node.workspace, "data"),
    GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: node.configPath,
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose",
    GATEHOUSE_SIDECAR_COMPOSE_COMMAND: JSON.stringify(restart),
    GATEHOUSE_SIDECAR_COMPOSE_DIRECTORY: dirname(node.programs.ops),
  };
}

const isCorrected = (text: string) => text.includes("storage_cetina_job_name") && !text.includes("pamir");

async function corrected(node: FakeNode, upkeep: RunningUpkeep): Promise<string> {
  const text = await readUntil(node.config, isCorrected);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  return text;
}

test("a file that an editor saves by renaming is corrected, its mode stays", async () => {
  await using node = await startFakeNode();
  await chmod(node.configPath, 0o640);
  await using upkeep = await runUpkeep(node, noRestart);
  await corrected(node, upkeep);
  await writeFile(`${node.configPath}.swp`, driftedConfig.replace("node-7", "node-8"), { mode: 0o640 });
  await rename(`${node.configPath}.swp`, node.configPath);
  expect(await readUntil(node.config, isCorrected)).toContain('"storage_cetina_job_name": "node-8"');
  expect((await stat(node.configPath)).mode & 0o777).toBe(0o640);
});

test("a file behind links, swapped as a ConfigMap is: the file behind is corrected, the links stay", async () => {
  await using node = await startFakeNode();
  const [directory, file] = [dirname(node.configPath), basename(node.configPath)];
  const version = async (name: string, config: string) => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, file), config);
    await symlink(name, join(directory, "..next"));
    await rename(join(directory, "..next"), join(directory, "..data"));
  };
  await rm(node.configPath);
  await version("..1", driftedConfig);
  await symlink(join("..data", file), node.configPath);
  await using upkeep = await runUpkeep(node, noRestart);
  await corrected(node, upkeep);
  await version("..2", driftedConfig.replace("node-7", "node-9"));
  const text = await readUntil(node.config, isCorrected);
  expect(text).toContain("node-9");
  expect(await readFile(join(directory, "..2", file), "utf8")).toBe(text);
});

test("a folder that is deleted and made again gets its configuration back, and is watched again", async () => {
  await using node = await startFakeNode();
  const quick = {
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
    GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "200",
  };
  await using upkeep = await runUpkeep(node, {
    ...noRestart,
    ...quick,
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
  });
  const good = await corrected(node, upkeep);
  const directory = dirname(node.configPath);
  await rm(directory, { recursive: true });
  const gone = await upkeep.reason("ConfigValid", "FileMissing");
  expect(gone.message).toContain(
    `${node.configPath} is not there; write it again, or set node.configPath to where it is.`,
  );
  await mkdir(directory);
  await upkeep.reason("ConfigValid", "Valid");
  expect(await node.config()).toBe(good);
  await writeFile(node.configPath, driftedConfig);
  await corrected(node, upkeep);
});

test("in observe mode nothing changes and everything is said", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" });
  const condition = await upkeep.reason("ConfigReconciled", "Drift");
  expect(condition.message).toContain(
    "node.conf differs from the desired configuration, and upkeep.mode is observe: enable_pamir_cetina renamed",
  );
  await upkeep.reason("AutoPruneEnabled", "Disabled");
  expect(await node.config()).toBe(driftedConfig);
  // After the first whole pass, which may come later than what was waited for.
  await readUntil(
    () => upkeep.upkeep.configured().ok,
    (isConfigured) => isConfigured,
  );
});

test("the last five versions are kept, readable by the owner only", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, noRestart);
  await corrected(node, upkeep);
  for (let index = 0; index < 7; index += 1) {
    await writeFile(node.configPath, driftedConfig.replace("node-7", `node-${index}`));
    await readUntil(node.config, (text) => isCorrected(text) && text.includes(`"node-${index}"`));
  }
  const versions = join(upkeep.stateDirectory, "versions");
  const names = (await readdir(versions)).sort();
  expect(names).toHaveLength(5);
  expect(await readFile(join(versions, names.at(-1)!), "utf8")).toContain('"pamir_cetina_job_name": "node-6"');
  expect((await stat(join(versions, names[0]!))).mode & 0o777).toBe(0o600);
});

test("two sidecars for one file: the second one does not write, and says who does", async () => {
  await using node = await startFakeNode();
  await using first = await runUpkeep(node, noRestart);
  await corrected(node, first);
  await using second = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "another" });
  const condition = await second.reason("SoleWriter", "Locked");
  expect(condition.message).toMatch(/^Another process looks after .*only one may write the file\.$/);
  expect(condition.message).toContain(`/${basename(node.configPath)} `);
  // The cause is named once.
  expect((await second.reason("ConfigReconciled", "Locked")).message).toMatch(
    /^node\.conf differs from the desired configuration, and this sidecar may not write it \(SoleWriter\): .*another/,
  );
  expect(await node.config()).toContain("node-7");
});

test("a second writer that disagrees ends in a condition, and in no restart", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { ...hideProcess(node), GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "ours" });
  await readUntil(node.config, (text) => text.includes('"ours"'));
  const ours = await node.config();
  await upkeep.reason("NoRestartPending", "NoRestart");
  const restarts = await node.starts();
  for (let index = 0; index < 80; index += 1) {
    await writeFile(node.configPath, ours.replace('"ours"', `"theirs-${index}"`));
    await readUntil(node.config, (text) => text.includes('"ours"'));
  }
  const condition = await upkeep.reason("SoleWriter", "Contested");
  expect(condition.message).toMatch(
    /^node\.conf was corrected \d+ times within a minute: another program keeps writing it\. Stop that program/,
  );
  expect((await upkeep.reason("NoRestartPending", "Contested")).message).toMatch(
    /another program keeps writing node\.conf, so it waits until \S+Z, or until `[^`]+\/gatehouse\.js'? resume` is run\./,
  );
  expect((await node.starts()) - restarts).toBeLessThanOrEqual(6);
});

test("a program that writes the same drift now and then is distinguished from a person, and the node not restarted each time", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { ...hideProcess(node), GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "ours" });
  await readUntil(node.starts, (starts) => starts === 2);
  const ours = await node.config();
  for (const [starts, settled] of [
    [3, "NoRestart"],
    [4, "NoRestart"],
    [4, "Contested"],
    [4, "Contested"],
  ] as const) {
    const before = await upkeep.corrections();
    await writeFile(node.configPath, ours.replace('"ours"', '"theirs"'));
    await readUntil(upkeep.corrections, (count) => count === before + 1);
    await readUntil(node.starts, (count) => count === starts);
    await readUntil(
      () => upkeep.state.restartInFlight.get(),
      (restart) => restart === undefined,
    );
    await upkeep.reason("NoRestartPending", settled);
  }
  const condition = await upkeep.reason("SoleWriter", "Contested");
  expect(condition.message).toContain("of the very same change again and again within six hours: another program");
  expect(await node.running()).toBe(ours);
  await writeFile(node.configPath, ours.replace('"18100"', '"18101"'));
  await readUntil(node.starts, (starts) => starts === 5);
});

test("a file that is larger than the limit is never replaced", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, {
    ...noRestart,
    GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "100",
    GATEHOUSE_SIDECAR_UPKEEP_CONFIG_LIMIT_BYTES: "10000",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
  });
  const large = `${await corrected(node, upkeep)}//${"x".repeat(10_000)}\n`;
  await writeFile(node.configPath, large);
  await upkeep.reason("ConfigValid", "TooLarge");
  const passes = async () => Number(/^gatehouse_reconciles_total (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const before = await passes();
  await readUntil(passes, (count) => count > before + 5);
  expect(await node.config()).toBe(large);
});
