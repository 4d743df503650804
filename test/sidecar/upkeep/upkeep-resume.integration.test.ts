import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runResumeCommand } from "#sidecar/upkeep/control/resume-command.ts";
import { openUpkeepState } from "#sidecar/upkeep/state/upkeep-state.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { readUntil } from "#daemon/testing/until.ts";

test("gatehouse resume treats a conflicting writer of node.conf as stopped", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "ours",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  });
  await readUntil(node.config, (text) => text.includes('"ours"'));
  const ours = await node.config();
  for (let corrections = await upkeep.corrections(), index = 1; index <= 4; index += 1) {
    await writeFile(node.configPath, ours.replace('"ours"', '"theirs"'));
    await readUntil(upkeep.corrections, (count) => count === corrections + index);
  }
  const { message } = await upkeep.reason("ConfigReconciled", "Contested");
  const command = `${formatOwnCommand()} resume`;
  expect(message).toContain(`or until you run \`${command}\`.`);
  expect(await runResumeCommand(upkeep.target, captureOutput().output)).toBe(0);
  await upkeep.reason("ConfigReconciled", "Reconciled");
});

test.each([
  ["at once if an operator requested it, even without budget", true],
  ["after the budget allows it if the node's version changed, unless the node starts before", false],
])("runs the retry of a failed restart %s", async (_, isAsked) => {
  await using node = await startFakeNode();
  const environment = { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" };
  {
    await using before = await runUpkeep(node, environment);
    await before.restarted(2);
  }
  await node.stop();
  {
    using state = openUpkeepState(join(node.workspace, "state"));
    state.retry.set({ reason: "node.conf was changed", height: 1, why: "a test says so", isAsked });
  }
  await using upkeep = await runUpkeep(node, { ...environment, GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "0" });
  if (isAsked) {
    await readUntil(node.starts, (starts) => starts === 3);
  } else {
    const { message } = await upkeep.reason("NoRestartPending", "BudgetExhausted");
    expect(message).toContain("(a test says so, so the failed restart is retried: node.conf was changed)");
    await node.start();
  }
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(3);
  expect(upkeep.state.retry.get()).toBeUndefined();
});
