import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

const quick = {
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
};

/**
 * Installs a node_cli that is the only source of the version, as if the node were down: it reports 0.16.2, or the value of `lie` as many
 * times as `lie` specifies. Returns how often it was queried.
 */
async function nodeCliThatLies(node: FakeNode) {
  const at = (name: string) => join(node.workspace, name);
  await writeFile(
    join(node.binDirectory, "node_cli"),
    `#!/bin/sh
if [ "$1" != --version ]; then echo enable_auto_prune = 1; exit 0; fi
printf x >> '${at("asked")}'
times=$(cat '${at("times")}' 2>/dev/null || echo 0)
[ "$times" -gt 0 ] && [ -e '${at("lie")}' ] || { echo 'node_cli 0.16.2'; exit 0; }
echo $((times - 1)) > '${at("times")}'
cat '${at("lie")}'
`,
    { mode: 0o755 },
  );
  const asked = async () => (await readFile(at("asked"), "utf8").catch(() => "")).length;
  return {
    /** Makes it report a wrong version this many times, and waits until enough later responses have been right. */
    lie: async (response: string, times: number) => {
      await writeFile(at("lie"), `${response}\n`);
      await writeFile(at("times"), String(times));
      const requestsBefore = await asked();
      await readUntil(asked, (count) => count >= requestsBefore + Math.min(times, 10));
    },
    stop: () => rm(at("lie")),
    asked,
  };
}

const renamed = (text: string) => text.includes("storage_cetina_job_name") && !text.includes("pamir");

test("ignores a single wrong node_cli response: a different layout, different naming, or no version", async () => {
  await using node = await createFakeNode();
  const cli = await nodeCliThatLies(node);
  await using upkeep = await runUpkeep(node, quick);
  await readUntil(node.config, renamed);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const corrections = await upkeep.corrections();
  for (const response of ["node_cli 0.9.0", "node_cli 0.15.0", "segmentation fault"]) {
    await cli.lie(response, 1);
    const requestsBefore = await cli.asked();
    await readUntil(cli.asked, (count) => count >= requestsBefore + 4);
    await upkeep.passes(5);
    expect(upkeep.board.get("VersionConsistent")?.message).toBe("The node's version is 0.16.2 (node_cli --version).");
    expect(upkeep.board.get("ConfigReconciled")?.reason).toBe("Reconciled");
    expect(upkeep.board.get("Pruning")?.reason).toBe("Enabled");
  }
  expect(await upkeep.corrections()).toBe(corrections);
  expect(upkeep.events.list().filter(({ kind }) => kind === "version")).toEqual([]);
});

test("also ignores a wrong first response from node_cli", async () => {
  await using node = await createFakeNode();
  const cli = await nodeCliThatLies(node);
  await writeFile(join(node.workspace, "lie"), "node_cli 0.9.0\n");
  await writeFile(join(node.workspace, "times"), "1");
  await using upkeep = await runUpkeep(node, quick);
  await readUntil(node.config, renamed);
  await upkeep.reason("VersionConsistent", "Consistent");
  expect(await cli.asked()).toBeGreaterThan(1);
  expect(upkeep.events.list().filter(({ kind }) => kind === "version")).toEqual([]);
});

test("ignores a version that node_cli keeps reporting if its layout is missing, and forgets it once node_cli is right", async () => {
  await using node = await createFakeNode();
  const cli = await nodeCliThatLies(node);
  await using upkeep = await runUpkeep(node, quick);
  await readUntil(node.config, renamed);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await cli.lie("node_cli 0.9.0", 1_000_000);
  const { message } = await upkeep.reason("VersionConsistent", "Mismatch");
  expect(message).toBe(
    `The node's version is 0.9.0 (node_cli --version). But node 0.9.0 would have its binaries in ${join(node.workspace, "node/domain/client/bin")}, ` +
      `which does not exist, whereas ${node.binDirectory} does; set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to the node's release, or finish the upgrade.`,
  );
  await upkeep.passes(5);
  expect(upkeep.board.get("ConfigReconciled")?.reason).toBe("VersionUnknown");
  expect(renamed(await node.config())).toBe(true);
  expect((await upkeep.reason("ConfigReconciled", "VersionUnknown")).message).toContain(
    "The key names of monitor_config are uncertain, so they are not changed: node 0.9.0 would have its binaries in ",
  );
  await cli.stop();
  await upkeep.reason("VersionConsistent", "Consistent");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(renamed(await node.config())).toBe(true);
});
