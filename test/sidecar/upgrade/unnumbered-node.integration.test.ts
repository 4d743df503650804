import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runFakeUpkeep, upgradeNode, waitUntilFakeSettled } from "../../support/node/upgraded-node.ts";

async function silence(directory: string): Promise<void> {
  const path = join(directory, "node-process.cjs");
  const program = await readFile(path, "utf8");
  await writeFile(path, program.replace("debug_protocolVersion: protocolVersion,", ""));
}

/** Starts a node of 0.15.0 whose version is reported only by its tool, and creates a release of 0.16.2 next to it. */
async function startSilentNode(): Promise<Readonly<{ node: FakeNode; release: string }>> {
  const node = await createFakeNode();
  await node.install("0.15.0");
  await silence(node.binDirectory);
  const release = await node.release("0.16.2", "good");
  await silence(release);
  await node.start();
  return { node, release };
}

test("keeps a verified upgrade even if node.version still specifies the previous version", async () => {
  await using resources = new AsyncDisposableStack();
  const { node, release } = await startSilentNode();
  resources.use(node);
  const upkeep = resources.use(await runFakeUpkeep(node, { GATEHOUSE_SIDECAR_NODE_VERSION: "0.15.0" }));
  await waitUntilFakeSettled(upkeep);
  const shown = await upgradeNode(upkeep, release, { dryRun: true });
  expect(shown.printed).toContain(
    "node.version is set to 0.15.0; once 0.16.2 runs, set GATEHOUSE_SIDECAR_NODE_VERSION to 0.16.2, or remove it",
  );
  await upgradeNode(upkeep, release);
  await upkeep.reason("UpgradeVerified", "Verified");
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(await node.config()).toContain("storage_cetina_job_name");
  expect(await node.running()).toContain("storage_cetina_job_name");
  expect(upkeep.board.get("VersionConsistent")?.message).toContain(
    "The node's version is 0.16.2 (node_cli --version).",
  );
  const writes = upkeep.events.list().filter(({ kind }) => kind === "write");
  expect(new Set(writes.map(({ why }) => why))).toEqual(new Set(["the upgrade from 0.15.0 to 0.16.2"]));
});

const oldCommit = "f301031a9";
const newCommit = "d6d98fd33";

const ofFamily = ({ binDirectory }: FakeNode) => ({
  GATEHOUSE_SIDECAR_NODE_FAMILY: "pharos",
  GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: join(binDirectory, "node.conf"),
  GATEHOUSE_SIDECAR_NODE_CLI_COMMAND: "node_cli",
  GATEHOUSE_SIDECAR_OPS_STOP: JSON.stringify(["sh", "-c", "cd bin && ./ops stop --force"]),
  GATEHOUSE_SIDECAR_OPS_START: JSON.stringify(["sh", "-c", "cd bin && ./ops start"]),
});

async function writeProgram(path: string, prints: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n[ "$1" = --version ] && echo "${prints}"\n`);
  await chmod(path, 0o755);
}

/** `isSilent`: only its binary reports the commit. */
async function startCommitNode(kind: "good" | "corrupting", { isSilent }: Readonly<{ isSilent: boolean }>) {
  const node = await createFakeNode();
  await node.install(oldCommit);
  await writeProgram(join(node.binDirectory, "pharos_light"), oldCommit);
  await writeFile(join(node.binDirectory, "VERSION"), `{"Net-1":{"version":12,"epoch":1,"commit":"${oldCommit}"}}`);
  const release = await node.release(newCommit, kind);
  await writeProgram(join(release, "pharos_light"), `${newCommit}-dirty`);
  if (isSilent) for (const directory of [node.binDirectory, release]) await silence(directory);
  else await writeProgram(join(release, "pharos_light"), newCommit);
  await node.start();
  return { node, release };
}

test.each([
  { isSilent: false, to: newCommit },
  { isSilent: true, to: `${newCommit}-dirty` },
])(
  "upgrades a node that reports a commit to binaries of an unknown release without a VERSION file: %o",
  async ({ isSilent, to }) => {
    await using resources = new AsyncDisposableStack();
    const { node, release } = await startCommitNode("good", { isSilent });
    resources.use(node);
    const upkeep = resources.use(await runFakeUpkeep(node, ofFamily(node)));
    await waitUntilFakeSettled(upkeep);
    const configBefore = await node.config();
    const shown = await upgradeNode(upkeep, release, { dryRun: true });
    expect(shown.printed).toContain(`from 0.12.2 to ${to}.`);
    expect(shown.printed).toContain(`the release has no VERSION, so the one in ${node.binDirectory} stays`);
    await upgradeNode(upkeep, release);
    await upkeep.reason("UpgradeVerified", "Verified");
    await upkeep.reason("VersionConsistent", "VersionUnknown");
    expect(upkeep.board.get("VersionConsistent")?.message).toContain(
      `upgrade.releasesPath: {version, commit: "${to}"}`,
    );
    expect([await node.version(), await node.config()]).toEqual([newCommit, configBefore]);
    expect(await readFile(join(node.binDirectory, "VERSION"), "utf8")).toContain(oldCommit);
  },
);

test("rolls back binaries that do not start and verifies the old ones by their commit; does not try binaries that report no commit", async () => {
  await using resources = new AsyncDisposableStack();
  const { node, release } = await startCommitNode("corrupting", { isSilent: true });
  resources.use(node);
  const upkeep = resources.use(await runFakeUpkeep(node, ofFamily(node)));
  await waitUntilFakeSettled(upkeep);
  const starts = await node.starts();
  await writeProgram(join(release, "pharos_light"), "Usage: …");
  expect((await upgradeNode(upkeep, release)).printed).toContain(
    `problem: ${join(release, "pharos_light")} --version does not identify these binaries`,
  );
  await writeProgram(join(release, "pharos_light"), oldCommit);
  expect((await upgradeNode(upkeep, release)).printed).toContain("problem: the node is 0.12.2 already");
  expect(await node.starts()).toBe(starts);
  await writeProgram(join(release, "pharos_light"), newCommit);
  await upgradeNode(upkeep, release);
  await upkeep.reason("UpgradeVerified", "RolledBack");
  expect(await node.version()).toBe(oldCommit);
});
