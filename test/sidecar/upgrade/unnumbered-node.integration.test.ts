import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { upgradeDevnet } from "../../support/node/settled-devnet.ts";
import { runFakeUpkeep, waitUntilFakeSettled } from "../../support/node/settled-fake-node.ts";

/** Has the node of a directory report no version by its RPC. */
async function silence(directory: string): Promise<void> {
  const path = join(directory, "node-process.cjs");
  const program = await readFile(path, "utf8");
  await writeFile(path, program.replace("debug_protocolVersion: protocolVersion,", ""));
}

/** Starts a node of 0.15.0 whose tool alone reports a version, and makes a release of 0.16.2 next to it. */
async function startSilentNode(): Promise<Readonly<{ node: FakeNode; release: string }>> {
  const node = await createFakeNode();
  await node.install("0.15.0");
  await silence(node.binDirectory);
  const release = await node.release("0.16.2", "good");
  await silence(release);
  await node.start();
  return { node, release };
}

test("an upgrade that is verified is not undone by a node.version that still names the version before", async () => {
  await using resources = new AsyncDisposableStack();
  const { node, release } = await startSilentNode();
  resources.use(node);
  const upkeep = resources.use(await runFakeUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.15.0" }));
  await waitUntilFakeSettled(upkeep);
  const shown = await upgradeDevnet(upkeep, release, { dryRun: true });
  expect(shown.printed).toContain(
    "node.version is fixed to 0.15.0; once 0.16.2 runs, set GATEHOUSE_SIDECAR_NODE_VERSION to 0.16.2, or remove it",
  );
  await upgradeDevnet(upkeep, release);
  await upkeep.reason("UpgradeProved", "Proved");
  await upkeep.reason("RestartSettled", "Idle");
  await upkeep.reason("ConfigCurrent", "AsDesired");
  expect(await node.config()).toContain("storage_cetina_job_name");
  expect(await node.running()).toContain("storage_cetina_job_name");
  expect(upkeep.board.get("VersionAgreed")?.message).toContain("The node's version is 0.16.2 (node_cli --version).");
  const writes = upkeep.events.list().filter(({ kind }) => kind === "write");
  expect(new Set(writes.map(({ why }) => why))).toEqual(new Set(["the upgrade from 0.15.0 to 0.16.2"]));
});
