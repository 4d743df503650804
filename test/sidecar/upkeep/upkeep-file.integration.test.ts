import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { createFakeNode, driftedConfig, startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runResumeCommand } from "#sidecar/upkeep/control/resume-command.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { generousMs, readUntil, until } from "#daemon/testing/until.ts";

/**
 * Hides the node's start time, so that the node may have read a short-lived node.conf: no driver reports the time, and its programs are
 * elsewhere.
 */
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

describe("file handling, with a stopped node and no restarts", () => {
  let node: FakeNode;
  let upkeep: RunningUpkeep;
  const settings = {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
    GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "200",
  };
  beforeAll(async () => {
    node = await createFakeNode();
    upkeep = await runUpkeep(node, settings);
  });
  beforeEach(async ({ task }) => {
    // The text varies, because the same drift again would look like another program's write.
    await node.save(driftedConfig.replace("the operator's own words", task.name));
    await corrected();
  });
  afterAll(async () => {
    await upkeep[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  async function corrected(): Promise<string> {
    const text = await readUntil(node.config, isCorrected);
    const seenAtMs = Date.now();
    await upkeep.reason("ConfigReconciled", "Reconciled");
    await until("the reconcile that corrected it has completed", generousMs, async () => {
      const { message } = await upkeep.reason("Reconciling", "Reconciling");
      return Date.parse(/ completed at (\S+)\.(?: |$)/.exec(message)?.[1] ?? "") > seenAtMs;
    });
    return text;
  }

  test("corrects a file that an editor saves by renaming, and keeps its mode", async () => {
    await writeFile(`${node.configPath}.swp`, driftedConfig.replace("node-7", "node-8"), { mode: 0o640 });
    await rename(`${node.configPath}.swp`, node.configPath);
    expect(await readUntil(node.config, isCorrected)).toContain('"storage_cetina_job_name": "node-8"');
    expect((await stat(node.configPath)).mode & 0o777).toBe(0o640);
  });

  test("corrects the file behind links swapped as in a ConfigMap, and keeps the links", async () => {
    const [directory, file] = [dirname(node.configPath), basename(node.configPath)];
    const version = async (name: string, config: string) => {
      await mkdir(join(directory, name));
      await writeFile(join(directory, name, file), config);
      await symlink(name, join(directory, "..next"));
      await rename(join(directory, "..next"), join(directory, "..data"));
    };
    await version("..1", driftedConfig);
    await symlink(join("..data", file), `${node.configPath}.link`);
    await rename(`${node.configPath}.link`, node.configPath);
    await corrected();
    await version("..2", driftedConfig.replace("node-7", "node-9"));
    const text = await readUntil(node.config, isCorrected);
    expect(text).toContain("node-9");
    expect(await readFile(join(directory, "..2", file), "utf8")).toBe(text);
  });

  test("restores the configuration of a directory that is deleted and recreated, and watches it again", async () => {
    const good = await node.config();
    const directory = dirname(node.configPath);
    await rm(directory, { recursive: true });
    const gone = await upkeep.reason("ConfigReconciled", "FileMissing");
    expect(gone.message).toContain(
      `${node.configPath} is missing; create it again, or set node.configPath to its location.`,
    );
    await mkdir(directory);
    await upkeep.reason("ConfigReconciled", "Reconciled");
    expect(await node.config()).toBe(good);
    await writeFile(node.configPath, driftedConfig);
    await corrected();
  });

  test("keeps the last five versions, readable only by the owner", async () => {
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

  test("lets only one of two sidecars write a file, and reports which", async () => {
    const environment = { ...settings, GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "another" };
    await using secondUpkeep = await runUpkeep(node, environment, {
      stateDirectory: join(node.workspace, "other-state"),
    });
    const condition = await secondUpkeep.reason("ConfigReconciled", "Locked");
    expect(condition.message).toMatch(
      /^Another process manages .*only one process may write the file\. node\.conf differs from the desired configuration: .*another/,
    );
    expect(condition.message).toContain(`/${basename(node.configPath)} `);
    expect(await node.config()).toContain("node-7");
  });

  test("never replaces a file above the size limit", async () => {
    const large = `${await node.config()}//${"x".repeat(65_536)}\n`;
    await writeFile(node.configPath, large);
    await upkeep.reason("ConfigReconciled", "TooLarge");
    await upkeep.passes(6);
    expect(await node.config()).toBe(large);
  });

  test("reports more than 60 corrections a minute as a conflict with another writer, until gatehouse resume", async () => {
    for (let index = 0; index <= 60; index += 1) {
      await writeFile(node.configPath, driftedConfig.replace("node-7", `theirs-${index}`));
      await readUntil(node.config, (text) => isCorrected(text) && text.includes(`"theirs-${index}"`));
    }
    const { message } = await upkeep.reason("ConfigReconciled", "Contested");
    expect(message).toMatch(
      /^node\.conf was corrected \d+ times within a minute: another program keeps writing it\. Stop that program/,
    );
    expect(message).toContain(`or until you run \`${formatOwnCommand()} resume\`.`);
    expect(await runResumeCommand(upkeep.target, captureOutput().output)).toBe(0);
    await upkeep.reason("ConfigReconciled", "Reconciled");
  });
});

test("changes nothing in observe mode, but reports everything", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" });
  const condition = await upkeep.reason("ConfigReconciled", "Drift");
  expect(condition.message).toContain(
    "node.conf differs from the desired configuration, and upkeep.mode is observe: enable_pamir_cetina renamed",
  );
  await upkeep.reason("Pruning", "Disabled");
  expect(await node.config()).toBe(driftedConfig);
  // Waits for the first complete reconcile, which may finish after that event.
  await readUntil(
    () => upkeep.upkeep.configured().ok,
    (isConfigured) => isConfigured,
  );
});

test("distinguishes a program that repeats the same drift from a person, and does not restart the node each time", async () => {
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
    const correctionsBefore = await upkeep.corrections();
    await writeFile(node.configPath, ours.replace('"ours"', '"theirs"'));
    await readUntil(upkeep.corrections, (count) => count === correctionsBefore + 1);
    await readUntil(node.starts, (count) => count === starts);
    await readUntil(
      () => upkeep.state.restartInFlight.get(),
      (restart) => restart === undefined,
    );
    await upkeep.reason("NoRestartPending", settled);
  }
  const condition = await upkeep.reason("ConfigReconciled", "Contested");
  expect(condition.message).toContain("repeatedly for the same change within six hours: another program");
  expect(await node.running()).toBe(ours);
  await writeFile(node.configPath, ours.replace('"18100"', '"18101"'));
  await readUntil(node.starts, (starts) => starts === 5);
});
