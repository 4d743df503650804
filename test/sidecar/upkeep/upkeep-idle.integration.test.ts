import { expect, test } from "vitest";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** A node.conf with drift, of a node whose chain produces no block. */
const idleConfig = driftedConfig.replace("node-7", "frozen-7");

const watchedForMs = 500;

test.concurrent("verifies a restart on an idle chain once the chain is known to be idle", async () => {
  await using node = await createFakeNode(idleConfig);
  await node.start();
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: String(watchedForMs),
    // The restart must wait until the sidecar knows the chain.
    GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: String(4 * watchedForMs),
  });
  await upkeep.reason("HeightAdvancing", "Quiet");
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(2);
  expect(upkeep.state.hold.get()).toBeUndefined();
  expect(await node.running()).toContain("storage_enable_cetina");
});

test.concurrent("gives a chain that was already idle the full time to produce a block, then accepts its head", async () => {
  await using node = await createFakeNode(idleConfig);
  await node.start();
  await using upkeep = await runUpkeep(node);
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.starts()).toBe(2);
  expect(upkeep.state.hold.get()).toBeUndefined();
});
