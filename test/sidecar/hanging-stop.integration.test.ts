import { expect, test } from "vitest";
import { mayMount, mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { waitForReason, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { startOwnedNode } from "../support/node/owned-node.ts";
import { startService } from "../support/service-process.ts";

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";

test.skipIf(!isPossible)(`exits on SIGTERM even if the node's file system hangs${why}`, async () => {
  await using node = await startOwnedNode("node-7");
  const constants = { "upkeep.fileTimeoutMs": 500, "upkeep.rereadIntervalMs": 200 };
  const environment = buildEnvironment(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  await using sidecar = await startService("sidecar", environment, { constants });
  await waitUntilSettled(sidecar.urls["sidecar"]);
  using _hanging = mountHangingDisk(node.binDirectory);
  await waitForReason(sidecar.urls["sidecar"], "ConfigReconciled", "Unresponsive");
  // The sidecar ends itself with SIGKILL.
  expect(await sidecar.end("SIGTERM", 20_000)).toBeNull();
});
