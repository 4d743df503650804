import { chown, readFile, rename, stat, truncate, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { generousMs, readUntil, until } from "#daemon/testing/until.ts";

/** Prevents restarts and restores, because these tests are only about messages. */
const onlyWords = {
  GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "0",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "200",
};
const isRoot = process.getuid?.() === 0;
/** A duplicate key. */
const twice = driftedConfig.replace(
  '"pamir_cetina_push_port"',
  '"pamir_cetina_push_port": 1,\n      "pamir_cetina_push_port"',
);
/** A text with a byte order mark and CRLF line endings. */
const styled = (text: string) => `\uFEFF${text.replaceAll("\n", "\r\n")}`;
const inLatin1 = (text: string) => Buffer.from(`${text}// r\xe9seau\n`, "latin1");
const inForce =
  "Nothing is restored, and the node is not restarted until this is fixed; a running node keeps the configuration that it read at startup.";

/** Unusable contents and their messages; `config-file.test.ts` has the others. */
const unusable: readonly (readonly [reason: string, content: string | Uint8Array, words: string])[] = [
  ["Empty", "", `node.conf is empty; restore it from a backup, or write a JSON object with a chain object. ${inForce}`],
  [
    "NotText",
    Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe),
    `node.conf:1:5 is not UTF-8 text (byte 0xff); convert it (\`iconv -f latin1 -t utf8\`, if it is Latin-1), or restore it from a backup. ${inForce}`,
  ],
  [
    "NoChain",
    '{"chain": "main"}',
    `node.conf has a string as chain; make chain an object with monitor_config and startup_config, or restore the file from a backup. ${inForce}`,
  ],
];

test("reports why a node.conf is unusable and leaves it unchanged; corrects one with a byte order mark, CRLF, a comment in Latin-1 or a different owner, and preserves these", async () => {
  await using node = await createFakeNode();
  await using upkeep = await runUpkeep(node, onlyWords);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const right = await node.config();
  for (const [reason, content, words] of unusable) {
    await writeFile(node.configPath, content);
    const { message } = await upkeep.reason("ConfigReconciled", reason);
    expect(message.replace(node.configPath, "node.conf")).toBe(words);
    expect((await readFile(node.configPath)).equals(Buffer.from(content)), reason).toBe(true);
  }
  await truncate(node.configPath, 100_000_000);
  expect((await upkeep.reason("ConfigReconciled", "TooLarge")).message.replace(node.configPath, "node.conf")).toBe(
    `node.conf is larger than the limit of 65536 bytes; make it smaller. ${inForce.replace(", and the node is not restarted", " or corrected")}`,
  );
  expect((await stat(node.configPath)).size).toBe(100_000_000);
  await writeFile(node.configPath, twice);
  expect((await upkeep.reason("ConfigReconciled", "EditRejected")).message).toBe(
    "node.conf has the key chain.monitor_config.pamir_cetina_push_port twice (line 10, column 7); remove one of the two.",
  );
  expect(await node.config()).toBe(twice);
  await writeFile(`${node.configPath}.new`, styled(driftedConfig));
  if (isRoot) await chown(`${node.configPath}.new`, 12_345, 12_345);
  await rename(`${node.configPath}.new`, node.configPath);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  expect(await node.config()).toBe(styled(right));
  if (isRoot) expect(await stat(node.configPath)).toMatchObject({ uid: 12_345, gid: 12_345 });
  await writeFile(node.configPath, inLatin1(driftedConfig));
  const corrected = inLatin1(right);
  await until("it is corrected", generousMs, async () => {
    return (await readFile(node.configPath)).equals(corrected);
  });
});

test("never reports a usable node.conf as reconciled if it differs", async () => {
  await using node = await createFakeNode();
  {
    await using upkeep = await runUpkeep(node, onlyWords);
    await upkeep.reason("ConfigReconciled", "Reconciled");
  }
  await using upkeep = await runUpkeep(node, { ...onlyWords, GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe" });
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await writeFile(node.configPath, "");
  await upkeep.reason("ConfigReconciled", "Empty");
  const before = upkeep.messages();
  await writeFile(node.configPath, driftedConfig);
  await upkeep.reason("ConfigReconciled", "Drift");
  const since = upkeep.messages().slice(0, -before.length);
  expect(since.filter((message) => message.startsWith("ConfigReconciled is True"))).toEqual([]);
});

/** Runs an action with the permissions of a user who owns nothing. */
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

const needsRoot = isRoot ? "" : " (skipped: only root can change a file's owner)";

test.skipIf(!isRoot)(
  `reports a node.conf that a different user owns and this user may not chown${needsRoot}`,
  async () => {
    await using node = await createFakeNode();
    for (const path of [node.workspace, node.binDirectory]) await chown(path, 65_534, 65_534);
    const words = await asNobody(async () => {
      await using upkeep = await runUpkeep(node, { ...onlyWords, GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none" });
      return (await upkeep.reason("ConfigReconciled", "WriteFailed")).message;
    });
    expect(words.replace(node.configPath, "node.conf")).toBe(
      "node.conf can't be written (EPERM: the sidecar's user can't preserve the file's owner; run the sidecar as that owner). Retried whenever node.conf is reread.",
    );
    expect(await readUntil(node.config, () => true)).toBe(driftedConfig);
  },
);
