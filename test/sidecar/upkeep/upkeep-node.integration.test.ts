import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { createFakeNode, desiredConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runResumeCommand } from "#sidecar/upkeep/control/resume-command.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** Installs another node_cli and returns the operator's message about it; `node-cli.test.ts` has the other faults. */
async function wordsAbout(text: string, reason: string): Promise<string> {
  await using node = await createFakeNode();
  await writeFile(node.programs.tool, text);
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_TIMEOUT_MS: "500",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  });
  const { message } = await upkeep.reason("Pruning", reason);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  return message.replace(/\d{4}-[\d:.TZ-]+Z/, "<time>");
}

// The message quotes the tool's last line, which may be a command and must stay a separate sentence.
test.each([
  [
    "printing garbage",
    "#!/bin/sh\necho '<html>'\n",
    'node_cli prune --get printed no enable_auto_prune of 0 or 1; found "<html>\\n". It runs again at <time>.',
  ],
  [
    "that exits with status 0 and an error",
    "#!/bin/sh\necho 'error: no node runs' >&2\n",
    'node_cli prune --get printed no enable_auto_prune of 0 or 1; found "". It said: error: no node runs (it runs again at <time>)',
  ],
])("reports a node_cli %s, and still corrects the configuration", async (_, text, words) => {
  expect(await wordsAbout(text, "UnexpectedOutput")).toBe(words);
});

test("does not report a failure if the node was started manually before the sidecar's own start", async () => {
  await using node = await startFakeNode();
  const { ops } = node.programs;
  await rename(ops, `${ops}-by-hand`);
  // The operator's start succeeds; the sidecar's own start finds the node running.
  const words = "the node is already running";
  const raced = `#!/bin/sh\n./ops-by-hand "$@" || exit 1\nif [ "$1" = start ]; then echo "${words}" >&2; exit 1; fi\n`;
  await writeFile(ops, raced, { mode: 0o755 });
  await using upkeep = await runUpkeep(node);
  await upkeep.restarted(2);
  expect(upkeep.state.hold.get()).toBeUndefined();
  expect(await node.running()).toBe(await node.config());
  const said = upkeep.events.list().filter(({ kind }) => kind === "restart" || kind === "roll-back");
  // Another test's node may run on this machine.
  const own = said.filter(({ message }) => !message.startsWith("Another node runs on this machine"));
  expect(own.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The node recovered and advances after/),
    expect.stringMatching(
      new RegExp(`^The sidecar could not start the node, but another program or user did\\. .*${words}`),
    ),
    expect.stringMatching(/^Restarting the node \(ops\)/),
  ]);
});

test("rolls back a node that responds but is stuck at its height; stays paused across a restart of the sidecar, even if the node is down and its version unknown, until gatehouse resume", async () => {
  await using node = await startFakeNode();
  let healthy;
  {
    await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "1000" });
    await upkeep.restarted(2);
    healthy = await node.config();
    await writeFile(node.configPath, healthy.replace("12345678901234567890", '"frozen"'));
    await upkeep.reason("NotPaused", "Paused");
    const message = await upkeep.message("NotPaused", "It recovered after one more restart.");
    expect(message).toContain("its height stayed at 5 within 1000 ms of its first response");
    expect(message).toContain(`Fix the cause, then run \`${formatOwnCommand()} resume\``);
  }
  await node.stop();
  await rm(node.programs.tool);
  await writeFile(node.configPath, '{ "chain": {');
  await using upkeep = await runUpkeep(node);
  if (testProfile !== "pharos") await upkeep.reason("VersionConsistent", "VersionUnknown");
  await upkeep.reason("ConfigReconciled", "Truncated");
  await upkeep.reason("NotPaused", "Paused");
  await node.save(healthy);
  await node.start();
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const { output, printed } = captureOutput();
  expect(await runResumeCommand(upkeep.target, output)).toBe(0);
  expect(printed().printed).toMatch(/^Gatehouse resumed on .*\. It was paused since .*: The node did not recover/);
  expect(printed().printed).toContain(
    `on ${node.configPath} (data ${join(node.workspace, "data")}, chain 1672, machine `,
  );
  await upkeep.reason("NotPaused", "NotPaused");
  const otherPath = join(node.workspace, "elsewhere");
  expect(await runResumeCommand({ kind: "socket", stateDirectories: [otherPath] }, output)).toBe(1);
  expect(printed().errors).toContain(
    `resume: no running sidecar has its state in ${otherPath}. Start it, or specify a running one`,
  );
});

test("does not restart the node if only comments changed", async () => {
  await using node = await startFakeNode(desiredConfig);
  await using upkeep = await runUpkeep(node);
  await upkeep.reason("NoRestartPending", "NoRestart");
  const text = await node.config();
  await writeFile(node.configPath, text.replace("the operator's own words", "other words"));
  const made = upkeep.passes(1);
  upkeep.upkeep.wake();
  await made;
  expect(upkeep.board.get("NoRestartPending")?.reason).toBe("NoRestart");
  expect(await node.config()).toContain("other words");
});

// A public-family node does not report its release.
test.skipIf(testProfile === "pharos")(
  "migrates the keys, with their values, once the new version runs after an observed upgrade",
  async () => {
    await using node = await createFakeNode();
    await node.install("0.15.0");
    await node.start();
    await using upkeep = await runUpkeep(node, {
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "100",
    });
    await upkeep.reason("ConfigReconciled", "Reconciled");
    await node.install("0.16.0-rc.1");
    await node.stop();
    await node.start();
    expect(await readUntil(node.config, (text) => !text.includes("pamir"))).toContain(
      '"storage_cetina_job_name": "node-7"',
    );
  },
);

test("verifies a restart only once if the state directory can't store the healthy configuration", async () => {
  await using node = await startFakeNode();
  await mkdir(join(node.workspace, "state/healthy.conf"), { recursive: true });
  await using upkeep = await runUpkeep(node);
  await readUntil(node.starts, (starts) => starts === 2);
  const reported = () => upkeep.events.list().filter(({ message }) => message.includes("could not be stored"));
  await readUntil(reported, (events) => events.length === 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.state.restartInFlight.get()).toBeUndefined();
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_restarts_total{cause="unverified"} 0');
});
