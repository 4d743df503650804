import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, driftedConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

const noRestart = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" };

/** Installs a node_cli that prints the given output for `prune … --get`, and for `--version` if it supports that. */
async function nodeCliPrints(node: FakeNode, pruneInfo: string, version?: string): Promise<void> {
  const path = join(node.binDirectory, "node_cli");
  const own = version === undefined ? "exit 2" : `{ echo "${version}"; exit; }`;
  await writeFile(path, `#!/bin/sh\n[ "$1" = prune ] || ${own}\ncat <<'END'\n${pruneInfo}\nEND\n`);
  await chmod(path, 0o755);
}

const pruneInfo = (real: number) =>
  `enable_auto_prune = 1\nauto_prune_reserved_window = 100\nprune_reserved_version = 900\nflushed_version = 1000\nreal_prune_reserved_version = ${real}`;

test.each([
  ["registry.example:5000/evm/node:0.15.0@sha256:00", "0.15.0", '"pamir_cetina_job_name": "node-7"'],
  ["evm/node:v0.16.0-rc.1", "0.16.0-rc.1", '"storage_cetina_job_name": "node-7"'],
])("uses the tag if only the image %s specifies the version", async (image, version, key) => {
  await using node = await createFakeNode();
  await nodeCliPrints(node, pruneInfo(1));
  await using upkeep = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_NODE_IMAGE: image });
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(upkeep.board.get("VersionConsistent")?.message).toBe(`The node's version is ${version} (the image's tag).`);
  expect(await node.config()).toContain(key);
});

test("writes nothing if nothing reports the version, and reports what to set", async () => {
  await using node = await createFakeNode();
  await nodeCliPrints(node, pruneInfo(1));
  await using upkeep = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_NODE_IMAGE: "evm/node:latest" });
  const { message } = await upkeep.reason("ConfigReconciled", "VersionUnknown");
  expect(message).toBe(
    "The node's version is unknown, so the key names of monitor_config are unknown too; set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).",
  );
  expect(await node.config()).toContain("pamir");
});

test("if the node is the only source of its version, lets it start with a node.conf valid for any version, then renames the keys", async () => {
  await using node = await createFakeNode();
  await using upkeep = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none" });
  await upkeep.reason("ConfigReconciled", "VersionUnknown");
  expect(upkeep.upkeep.configured()).toEqual({
    ok: true,
    message:
      "The node's version is unknown; node.conf is valid for at least one version, so the node may start and report its own. To check the keys before that, set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).",
  });
  await node.start();
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(await node.config()).toContain('"storage_cetina_job_name": "node-7"');
});

test.each([
  ["a value that is invalid under any name", driftedConfig.replace('push_interval": 5', 'push_interval": 0')],
  ["no monitor_config", '{ "chain": {}, "storage": {} }'],
])("does not start the node with %s in node.conf, and reports what to set", async (_, config) => {
  await using node = await createFakeNode(config);
  await using upkeep = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none" });
  await upkeep.reason("ConfigReconciled", "VersionUnknown");
  const { ok, message } = upkeep.upkeep.configured();
  expect(ok).toBe(false);
  expect(message).toBe(
    "The node's version is unknown, so the key names of monitor_config are unknown too; set node.version (GATEHOUSE_SIDECAR_NODE_VERSION). node.conf needs changes for every known version, so a node that waits for /startupz does not start and can't report its version.",
  );
  expect(await node.config()).toBe(config);
});

test("reports enabled pruning that makes no progress while blocks arrive, until it does", async () => {
  await using node = await createFakeNode();
  await nodeCliPrints(node, pruneInfo(500));
  await node.start();
  await using upkeep = await runUpkeep(node, {
    ...noRestart,
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "100",
    GATEHOUSE_SIDECAR_PRUNE_STALLED_AFTER_MS: "1000",
  });
  const { message } = await upkeep.reason("Pruning", "PruningStalled");
  expect(message).toBe(
    "Auto-pruning is on, but real_prune_reserved_version has been 500 for more than 1 s while blocks advanced; check the node's log and its disk, then restart it.",
  );
  const metrics = await upkeep.metrics.metrics();
  expect(metrics.match(/^gatehouse_node_prune_\w+ \d+$/gm)?.sort()).toEqual([
    "gatehouse_node_prune_enabled 1",
    "gatehouse_node_prune_flushed_version 1000",
    "gatehouse_node_prune_real_reserved_version 500",
    "gatehouse_node_prune_reserved_version 900",
    "gatehouse_node_prune_reserved_window_versions 100",
  ]);
  await nodeCliPrints(node, pruneInfo(600));
  expect((await upkeep.reason("Pruning", "Enabled")).message).toBe(
    "enable_auto_prune reads 1. Versions before 600 are pruned.",
  );
});

test("renames no keys because of an outdated node.version after a sidecar restart, before the node has reported its version", async () => {
  await using node = await createFakeNode(
    driftedConfig.replaceAll("pamir_cetina", "storage_cetina").replace("enable_storage", "storage_enable"),
  );
  await nodeCliPrints(node, pruneInfo(1), "node_cli v0.16.2");
  await using upkeep = await runUpkeep(node, { ...noRestart, GATEHOUSE_SIDECAR_NODE_VERSION: "0.15.0" });
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(upkeep.board.get("VersionConsistent")?.message).toBe(
    "The node's version is 0.16.2 (node_cli --version). But node.version says 0.15.0; correct node.version or finish the upgrade.",
  );
  expect(await node.config()).not.toContain("pamir");
  expect(upkeep.events.list().filter(({ message }) => message.includes("pamir"))).toEqual([]);
});
