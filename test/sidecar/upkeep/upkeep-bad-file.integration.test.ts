import { chown, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, driftedConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** Nothing is restarted and nothing restored: these tests are about the words. */
const onlyWords = {
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "0",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200",
};
const isRoot = process.getuid?.() === 0;
const inForce = "The last good one stays in force.";

test.each<[string, string, string | Uint8Array, string]>([
  ["of 0 bytes", "Empty", "", `node.conf is empty; expected a JSON object with a chain object. ${inForce}`],
  [
    "that is binary",
    "NotText",
    Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe),
    `node.conf is not UTF-8 text; write JSON, or restore the file from a backup. ${inForce}`,
  ],
  [
    "with chain as a string",
    "NoChain",
    '{"chain": "main"}',
    `node.conf has a string as chain; expected chain to be an object with monitor_config and startup_config. ${inForce}`,
  ],
  [
    "with no chain",
    "NoChain",
    "{}",
    `node.conf has no chain; expected chain to be an object with monitor_config and startup_config. ${inForce}`,
  ],
])("a node.conf %s: the condition says so, and the file stays as it is", async (_, reason, content, words) => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, onlyWords);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await writeFile(node.configPath, content);
  const { message } = await upkeep.reason("ConfigValid", reason);
  expect(message.replace(node.configPath, "node.conf")).toBe(words);
  expect(await node.config()).toBe(Buffer.from(content).toString("utf8"));
});

test("a node.conf of 100 MB is named and not read", async () => {
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, onlyWords);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  {
    await using file = await open(node.configPath, "w");
    await file.truncate(100_000_000);
  }
  const { message } = await upkeep.reason("ConfigValid", "TooLarge");
  expect(message.replace(node.configPath, "node.conf")).toBe(
    `node.conf is larger than 65536 bytes (upkeep.configLimitBytes) and is not read; make it smaller or raise the limit. ${inForce}`,
  );
  expect((await stat(node.configPath)).size).toBe(100_000_000);
});

test("a node.conf with a key that stands twice is named with its place and left alone", async () => {
  const twice = driftedConfig.replace(
    '"pamir_cetina_push_port"',
    '"pamir_cetina_push_port": 1,\n      "pamir_cetina_push_port"',
  );
  await using node = await startFakeNode(twice);
  await using upkeep = await runUpkeep(node, onlyWords);
  expect((await upkeep.reason("ConfigReconciled", "EditRejected")).message).toBe(
    "node.conf has the key chain.monitor_config.pamir_cetina_push_port twice (line 10, column 7); remove one of the two.",
  );
  expect(await node.config()).toBe(twice);
});

test.each([
  ["a byte order mark", (text: string) => `\uFEFF${text}`],
  ["CRLF line ends", (text: string) => text.replaceAll("\n", "\r\n")],
])("a node.conf with %s is corrected and keeps it", async (_, styled) => {
  await using node = await startFakeNode(styled(driftedConfig));
  await using upkeep = await runUpkeep(node, onlyWords);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const renamed = driftedConfig
    .replace("enable_pamir_cetina", "storage_enable_cetina")
    .replaceAll("pamir_cetina", "storage_cetina");
  expect(await node.config()).toBe(styled(renamed));
});

/** Does something with the rights of a user who owns nothing. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  process.setegid?.(65_534);
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

const needsRoot = isRoot ? "" : " (skipped: only root can give a file away)";

test.skipIf(!isRoot)(
  `a node.conf that another user owns keeps its owner when root corrects it${needsRoot}`,
  async () => {
    await using node = await startFakeNode();
    await chown(node.configPath, 12_345, 12_345);
    await using upkeep = await runUpkeep(node, onlyWords);
    await upkeep.reason("ConfigReconciled", "Reconciled");
    expect(await stat(node.configPath)).toMatchObject({ uid: 12_345, gid: 12_345 });
  },
);

test.skipIf(!isRoot)(
  `a node.conf that another user owns, and this one may not give away: said in words${needsRoot}`,
  async () => {
    await using node = await createFakeNode();
    for (const path of [node.workspace, node.binDirectory]) await chown(path, 65_534, 65_534);
    const words = await asNobody(async () => {
      await using upkeep = await runUpkeep(
        node,
        { ...onlyWords, GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2", GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none" },
        { stateDirectory: join(node.workspace, "state") },
      );
      return (await upkeep.reason("ConfigReconciled", "WriteFailed")).message;
    });
    expect(words.replace(node.configPath, "node.conf")).toBe(
      "node.conf can't be written (EPERM: the sidecar's user may not give the new file the old one's owner; run it as the file's owner). It is tried again at each look at node.conf (upkeep.rereadIntervalMs).",
    );
    expect(await readUntil(node.config, () => true)).toBe(driftedConfig);
  },
);
