import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { startEngineServer } from "#sidecar/testing/engine-server.ts";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

const hourMs = 3_600_000;

/** Lists the messages about restarts, newest first. */
const listRestartMessages = (upkeep: RunningUpkeep) =>
  upkeep.events.list().flatMap(({ kind, message }) => (kind === "restart" ? [message] : []));

/** Times at which a node may have started, relative to its drift; the number of restarts, and the message. */
const startTimes = [
  {
    when: "long before the drift, which it never read",
    startedAtMs: () => Date.now() - hourMs,
    restarts: 1,
    words: /^No restart is needed: the node was already running before the drift\.$/,
  },
  {
    when: "after the drift was corrected",
    startedAtMs: () => Date.now() + hourMs,
    restarts: 1,
    words: /^No restart is needed: the node starts or has started with the corrected node\.conf\.$/,
  },
  {
    when: "between the drift and its correction",
    startedAtMs: (driftedAtMs: number) => driftedAtMs,
    restarts: 2,
    words: /^The node recovered and advances after \d+ ms\.$/,
  },
];

test("restarts a node after a drift only if its start time suggests it has read the file", async () => {
  await using node = await createFakeNode();
  await node.start();
  let startedAtMs = Date.now() - hourMs;
  await using engine = await startEngineServer(() => startedAtMs);
  await using upkeep = await runUpkeep(node, engine.environment);
  // The restart after the first correction makes the node read it.
  await readUntil(engine.restarts, (restarts) => restarts === 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  for (const started of startTimes) {
    const corrected = await upkeep.corrections();
    const restartMessagesBefore = listRestartMessages(upkeep).length;
    startedAtMs = started.startedAtMs(Date.now());
    // The text varies, because the same drift again would look like another program's write.
    await writeFile(node.configPath, driftedConfig.replace("the operator's own words", started.when));
    await readUntil(upkeep.corrections, (corrections) => corrections > corrected);
    await readUntil(
      () => listRestartMessages(upkeep),
      ([newest, ...older]) =>
        older.length >= restartMessagesBefore && newest !== undefined && started.words.test(newest),
    );
    await upkeep.reason("NoRestartPending", "NoRestart");
    expect(engine.restarts(), started.when).toBe(started.restarts);
  }
});

test("with the ops driver, causes no restart for any number of drifts that are corrected before the node could read them", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using upkeep = await runUpkeep(node);
  await upkeep.restarted(2);
  const startedAtMs = Date.now();
  // A process is known to have read its configuration once it has run for a second.
  await readUntil(
    () => Date.now() - startedAtMs,
    (ms) => ms > 1_200,
  );
  for (let edits = 1; edits <= 5; edits += 1) {
    const correctionsBefore = await upkeep.corrections();
    await writeFile(node.configPath, driftedConfig);
    await readUntil(upkeep.corrections, (corrections) => corrections > correctionsBefore);
    await readUntil(
      () =>
        listRestartMessages(upkeep).filter((message) =>
          message.endsWith("the node was already running before the drift."),
        ),
      (messages) => messages.length === edits,
    );
    await upkeep.reason("NoRestartPending", "NoRestart");
  }
  expect(await node.starts()).toBe(2);
});

/** Ways in which a file older than the node's start may replace node.conf. */
const puts: readonly ((older: string, configPath: string) => Promise<void>)[] = [
  // Replaces node.conf with a link to that file.
  async (older, configPath) => {
    await symlink(older, `${configPath}.link`);
    await rename(`${configPath}.link`, configPath);
  },
  // Replaces node.conf's directory with the older file's.
  async (older, configPath) => {
    await rename(dirname(configPath), `${dirname(configPath)}-before`);
    await rename(dirname(older), dirname(configPath));
  },
];

test("does not assume that the node has read a node.conf whose timestamp predates its start, behind a link or in a swapped directory", async () => {
  await using node = await createFakeNode();
  await node.start();
  let startedAtMs = Date.now() - hourMs;
  await using engine = await startEngineServer(() => startedAtMs);
  const own = join(node.workspace, "conf");
  await mkdir(own);
  await rename(node.configPath, join(own, "node.conf"));
  await using upkeep = await runUpkeep(node, {
    ...engine.environment,
    GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: join(own, "node.conf"),
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200",
  });
  await readUntil(engine.restarts, (restarts) => restarts === 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const config = await readFile(join(own, "node.conf"), "utf8");
  for (const [at, put] of puts.entries()) {
    const older = join(node.workspace, `older-${at}`, "node.conf");
    await mkdir(dirname(older));
    await writeFile(older, config.replace("12345678901234567890", String(at)));
    await upkeep.reason("ConfigReconciled", "Reconciled");
    startedAtMs = Date.now() + 50;
    await readUntil(
      () => Date.now(),
      (nowMs) => nowMs > startedAtMs + 300,
    );
    await put(older, join(own, "node.conf"));
    await readUntil(engine.restarts, (restarts) => restarts === at + 2);
    await upkeep.reason("NoRestartPending", "NoRestart");
  }
});

test("does not treat an edit made long after the node started as a backup or as the cause of a fault, even if it has read no other content", async () => {
  await using node = await createFakeNode();
  await node.start();
  const answersWithinMs = 500;
  await new Promise((resolve) => setTimeout(resolve, 3 * answersWithinMs));
  await node.save(driftedConfig.replace('"18100"', '"18100x"'));
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: String(answersWithinMs),
  });
  await upkeep.message("RollbackReady", "node.conf was changed long after the node loaded it");
  expect(upkeep.board.get("RollbackReady")?.reason).toBe("NoBackup");
  expect((await upkeep.reason("NoRestartPending", "EditRejected")).message).toMatch(/the node may not start with it/);
  expect(await node.config()).toContain("storage_enable_cetina");
  expect(await node.starts()).toBe(1);
});

test("treats a manual change as loaded after a manual restart if there is no driver", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" });
  await upkeep.reason("NoRestartPending", "NoDriver");
  await node.stop();
  await node.start();
  await upkeep.reason("NoRestartPending", "NoRestart");
  await writeFile(node.configPath, (await node.config()).replace('"18100"', '"18101"'));
  await upkeep.reason("NoRestartPending", "NoDriver");
  await node.stop();
  await node.start();
  await upkeep.reason("NoRestartPending", "NoRestart");
});

test("restarts a node whose startup overwrites node.conf twice, and not again until its template is corrected", async () => {
  await using node = await createFakeNode();
  const template = join(node.workspace, "template.conf");
  const { ops } = node.programs;
  await writeFile(template, driftedConfig);
  await rename(ops, `${ops}-itself`);
  // The sidecar may see the file while it is empty.
  const write = `{ : > ${node.configPath}; sleep 0.1; cp ${template} ${node.configPath}; }`;
  const script = `#!/bin/sh\n[ "$1" = start ] && ${write}\nexec ./ops-itself "$@"\n`;
  await writeFile(ops, script, { mode: 0o755 });
  await node.start();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100" });
  const { message } = await upkeep.reason("ConfigReconciled", "StartRewrites");
  expect(message).toContain("it reverted the sidecar's corrections at each of the last two restarts");
  expect(message).toContain(`Set these values in the source of ${node.configPath} (template`);
  await upkeep.reason("NoRestartPending", "StartRewrites");
  await upkeep.passes(6);
  expect(await node.starts()).toBe(3);
  const corrected = await readUntil(node.config, (config) => !config.includes("pamir"));
  await writeFile(template, corrected);
  await node.stop();
  await node.start();
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(4);
});

test("reports a stopped container and the command that starts it, until it runs again", async () => {
  await using node = await createFakeNode();
  await node.start();
  let startedAtMs: number | undefined = Date.now() - hourMs;
  await using engine = await startEngineServer(() => startedAtMs);
  await using upkeep = await runUpkeep(node, {
    ...engine.environment,
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200",
  });
  await readUntil(engine.restarts, (restarts) => restarts === 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  startedAtMs = undefined;
  await node.stop();
  const { message } = await upkeep.reason("NoRestartPending", "NodeStopped");
  expect(message).toBe("The node's container is stopped; run `docker start node` to start it.");
  startedAtMs = Date.now();
  await node.start();
  await upkeep.reason("NoRestartPending", "NoRestart");
});
