import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { mayMount, mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startOwnedNode } from "../../support/node/owned-node.ts";

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";
// These tests run one by one, because each uses some of the process's few file threads.
const mounting = test.skipIf(!isPossible);

const quick = {
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_UPKEEP_FILE_TIMEOUT_MS: "300",
  GATEHOUSE_SIDECAR_UPKEEP_PASS_DEADLINE_MS: "2000",
};

/**
 * Checks the file itself: on a busy machine, a write may exceed the time limit, be reported as hanging, and still succeed.
 */
const isCorrected = (text: string) => text.includes("storage_cetina") && !text.includes("pamir");

mounting(
  `delays the restart for an edit whose key file is on a hung disk, and still corrects node.conf${why}`,
  async () => {
    await using node = await startOwnedNode("node-7");
    const keys = join(node.workspace, "keys");
    await mkdir(keys, { recursive: true });
    await writeFile(join(keys, "domain.key"), "key");
    await using upkeep = await runUpkeep(node, quick);
    await upkeep.reason("NoRestartPending", "NoRestart");
    using hanging = mountHangingDisk(keys);
    await node.save((await node.config()).replace('"18100"', '"18101"'));
    const { message } = await upkeep.reason("NoRestartPending", "EditNotChecked");
    expect(message.replaceAll(keys, "keys")).toMatch(
      /^node\.conf was changed, but whether the node can start with it is unknown: checking keys\/domain\.key has hung since \S+Z \(limit: 300 ms\): the file system does not respond\./,
    );
    await node.save((await node.config()).replaceAll("storage_cetina", "pamir_cetina"));
    await readUntil(node.config, isCorrected);
    expect(await node.starts()).toBe(1);
    await upkeep.reason("Reconciling", "Reconciling");
    hanging[Symbol.dispose]();
    await readUntil(node.starts, (starts) => starts === 2);
  },
);

mounting(`reports a program on a hung disk, and still corrects node.conf${why}`, async () => {
  await using node = await startOwnedNode("node-7");
  const tools = join(node.workspace, "tools");
  await mkdir(tools);
  const start = join(tools, "start");
  await writeFile(start, `#!/bin/sh\n./ops start --config ./${basename(node.configPath)}\n`, { mode: 0o755 });
  await using upkeep = await runUpkeep(node, { ...quick, GATEHOUSE_SIDECAR_OPS_START: JSON.stringify([start]) });
  await upkeep.reason("NoRestartPending", "NoRestart");
  using hanging = mountHangingDisk(tools);
  const { message } = await upkeep.reason("NoRestartPending", "ProgramMissing");
  expect(message.replaceAll(tools, "tools")).toMatch(
    /^The node can't be restarted: checking tools\/start has hung since \S+Z \(limit: 300 ms\): the file system does not respond\./,
  );
  await node.save((await node.config()).replaceAll("storage_cetina", "pamir_cetina"));
  await readUntil(node.config, isCorrected);
  await upkeep.reason("Reconciling", "Reconciling");
  hanging[Symbol.dispose]();
  await upkeep.reason("NoRestartPending", "NoRestart");
});
