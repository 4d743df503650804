import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEngineServer } from "#sidecar/testing/engine-server.ts";
import { createFakeNode, desiredConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { openUpkeepState } from "#sidecar/upkeep/state/upkeep-state.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { mayMount, mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import { readUntil } from "#daemon/testing/until.ts";

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";

test("reports a backup that can't be stored, and still starts a node that an earlier sidecar left stopped", async () => {
  await using node = await startFakeNode(desiredConfig);
  const stateDirectory = join(node.workspace, "state");
  {
    await using upkeepBefore = await runUpkeep(node);
    await upkeepBefore.reason("NoRestartPending", "NoRestart");
    await upkeepBefore.reason("ConfigReconciled", "Reconciled");
  }
  {
    // This is the state of a sidecar that was killed between the stop and the start.
    using left = openUpkeepState(stateDirectory);
    const reason = "node.conf was changed";
    left.restartInFlight.set({ reason, beganMs: Date.now(), phase: "commanded", isFinishing: false });
  }
  await node.stop();
  const copy = join(stateDirectory, "last-good.conf");
  await rm(copy);
  await mkdir(join(copy, "in-the-way"), { recursive: true });
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200",
  });
  await upkeep.reason("RpcResponding", "Responding");
  await upkeep.reason("NoRestartPending", "NoRestart");
  const { message } = await upkeep.reason("Reconciling", "WriteFailed");
  expect(message).toContain(`can't be backed up to ${copy} (E`);
  expect(message).toContain(`Make ${stateDirectory} writable, and free space there (df, df -i).`);
  await rm(copy, { recursive: true });
  await upkeep.reason("Reconciling", "Reconciling");
});

test("does not count a reconcile that fails after evaluating node.conf", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200" });
  await upkeep.restarted(2);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const versions = join(upkeep.stateDirectory, "versions");
  await rm(versions, { recursive: true });
  await writeFile(versions, "in the way");
  await rm(join(upkeep.stateDirectory, "healthy.conf"));
  await mkdir(join(upkeep.stateDirectory, "healthy.conf"));
  await writeFile(node.configPath, (await node.config()).replace("12345678901234567890", "7"));
  await upkeep.reason("Reconciling", "Failing");
  const made = await upkeep.metric("gatehouse_reconciles_total");
  const failedMetric = await upkeep.metric("gatehouse_reconcile_failures_total");
  await readUntil(
    () => upkeep.metric("gatehouse_reconcile_failures_total"),
    (now) => now >= failedMetric + 3,
  );
  expect(await upkeep.metric("gatehouse_reconciles_total")).toBe(made);
});

test.skipIf(!isPossible)(`completes a restart even if the file system of node.conf hangs during it${why}`, async () => {
  await using node = await createFakeNode();
  await node.start();
  const own = join(node.workspace, "conf");
  await mkdir(own);
  await rename(node.configPath, join(own, "node.conf"));
  const hanging = new DisposableStack();
  // The second restart follows once the file is readable again, because the node may have read other content in between.
  await using engine = await startEngineServer(
    () => 0,
    (restarts) => restarts === 1 && hanging.use(mountHangingDisk(own)),
  );
  try {
    await using upkeep = await runUpkeep(node, {
      ...engine.environment,
      GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: join(own, "node.conf"),
      GATEHOUSE_SIDECAR_UPKEEP_FILE_TIMEOUT_MS: "500",
    });
    await readUntil(upkeep.messages, (messages) =>
      messages.some((message) => message.startsWith("The node recovered and advances")),
    );
    expect(upkeep.board.get("ConfigReconciled")?.reason).toBe("Unresponsive");
    expect(upkeep.state.startedWith.get()).toBeUndefined();
    expect(upkeep.state.hold.get()).toBeUndefined();
    hanging.dispose();
    await upkeep.reason("Reconciling", "Reconciling");
    await readUntil(engine.restarts, (count) => count === 2);
    await upkeep.reason("NoRestartPending", "NoRestart");
  } finally {
    hanging.dispose();
  }
});
