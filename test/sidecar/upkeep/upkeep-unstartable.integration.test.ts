import { copyFile, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

test("rolls back once if the system rejects the start command, and pauses with the cause", async () => {
  await using node = await startFakeNode();
  const busy = join(dirname(node.programs.ops), "start-it");
  await copyFile("/bin/true", busy);
  const writer = await open(busy, "r+");
  onTestFinished(() => writer.close());
  // node.conf drifts, so that the first reconcile corrects it and makes a restart due.
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "500",
    GATEHOUSE_SIDECAR_OPS_START: '["./start-it"]',
  });
  const message = await upkeep.message("NotPaused", "Another restart failed");
  expect(message).toContain("./start-it can't be run (ETXTBSY): another process is writing it; `fuser -v ");
  expect(upkeep.state.restartInFlight.get()).toBeUndefined();
  const used = upkeep.state.store.database.prepare("SELECT reason FROM restart").all();
  expect(used.map(({ reason }) => reason)).toEqual([expect.stringContaining("node.conf"), "roll-back"]);
});
