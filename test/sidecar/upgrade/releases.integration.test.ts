import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runSidecar } from "../../support/run-sidecar.ts";
import { waitForReason } from "#sidecar/testing/sidecar-status.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startDevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { readHeight } from "../../support/node/upgraded-node.ts";

test("warns from a release list days ahead, and again when due, that the node is too old for the chain, and hot-reloads the list", async () => {
  await using node = await startDevnetWorkspace("0.15.0");
  await readUntil(
    () => readHeight(node),
    (height) => height > 6,
  );
  const path = join(node.workspace, "releases.json5");
  const write = (minVersionAt: unknown) =>
    writeFile(path, `[{ version: "0.16.0", minVersionAt: ${minVersionAt}, note: "a fork" }]`);
  // At two blocks per second, this height is some months ahead.
  await write(100_000_000);
  await using sidecar = await runSidecar(node, {
    GATEHOUSE_SIDECAR_UPGRADE_RELEASES_PATH: path,
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "200",
  });
  const report = (type: string, reason: string) => waitForReason(sidecar.urls["sidecar"], type, reason);
  expect(await report("VersionSupported", "Supported")).toMatchObject({ status: "True" });
  await write(100_000);
  expect(await report("VersionSupported", "OutdatedSoon")).toMatchObject({
    status: "False",
    message: expect.stringMatching(/^The node is 0\.15\.0.*from block 100000 \(about 2.*requires 0\.16\.0 \(a fork\)/),
  });
  await write('"soon"');
  expect((await report("FilesLoaded", "Rejected")).message).toContain("0.minVersionAt");
  await write(1);
  expect((await report("VersionSupported", "Outdated")).message).toContain("from block 1, the chain requires");
});
