import { join } from "node:path";
import { expect, test } from "vitest";
import { desiredConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { openUpkeepState } from "#sidecar/upkeep/state/upkeep-state.ts";
import { readUntil } from "#daemon/testing/until.ts";

test.each([
  ["at once if an operator requested it, even without budget", true],
  ["after the budget allows it if the node's version changed, unless the node starts before", false],
])("runs the retry of a failed restart %s", async (_, isRequested) => {
  await using node = await startFakeNode(desiredConfig);
  const environment = { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" };
  {
    await using upkeepBefore = await runUpkeep(node, environment);
    await upkeepBefore.reason("NoRestartPending", "NoRestart");
  }
  await node.stop();
  {
    using state = openUpkeepState(join(node.workspace, "state"));
    state.retry.set({ reason: "node.conf was changed", height: 1, why: "a test requested it", isRequested });
  }
  await using upkeep = await runUpkeep(node, { ...environment, GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "0" });
  if (isRequested) {
    await readUntil(node.starts, (starts) => starts === 2);
  } else {
    const { message } = await upkeep.reason("NoRestartPending", "BudgetExhausted");
    expect(message).toContain("(a test requested it, so the failed restart is retried: node.conf was changed)");
    await node.start();
  }
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(2);
  expect(upkeep.state.retry.get()).toBeUndefined();
});
