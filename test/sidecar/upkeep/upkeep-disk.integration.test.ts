import { lookup } from "node:dns/promises";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { driftedConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { mayMount, mountHangingDisk, mountSmallDisk } from "#sidecar/testing/small-disk.ts";
import { readUntil } from "#daemon/testing/until.ts";

const isPossible = await mayMount();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";
const mounting = test.skipIf(!isPossible);

const quick = {
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
};

mounting(`reports a full state disk, changes nothing until there is space, then corrects node.conf${why}`, async () => {
  await using disk = await mountSmallDisk(2_048);
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, quick, { stateDirectory: disk.path });
  await upkeep.reason("ConfigReconciled", "Reconciled");
  const right = await node.config();
  await disk.fill();
  // The database's own files may have space left for small writes.
  const uses = Array.from({ length: 20_000 }, (_, atMs) => ({ atMs, usedBytes: 1 }));
  upkeep.state.diskHistory.set({ path: disk.path, uses });
  await node.save(driftedConfig);
  expect((await upkeep.reason("Reconciling", "DiskFull")).message).toContain(
    `${join(disk.path, "upkeep.sqlite")} can't be written (database or disk is full); free space on its disk`,
  );
  // The space left in the database's own files may suffice for a small record, but not for a copy of node.conf.
  const current = await readUntil(
    () => upkeep.board.get("ConfigReconciled"),
    (condition) => condition?.status === "False",
  );
  expect(current?.message).toMatch(
    /the sidecar can't store its state \(see Reconciling\): |it can't be backed up to the state directory \(ENOSPC/,
  );
  await upkeep.passes(5);
  expect(await node.config()).toBe(driftedConfig);
  expect(await upkeep.metric("gatehouse_reconcile_failures_total")).toBe(0);
  // Changes are reported from memory, without their author.
  await node.save("");
  await upkeep.reason("ConfigReconciled", "Empty");
  expect(["Contested", "StartRewrites", "Locked"]).not.toContain(upkeep.board.get("ConfigReconciled")?.reason);
  const reported = upkeep.events.list().find(({ message }) => message.startsWith("ConfigReconciled is False (Empty)"));
  expect(reported).toBeDefined();
  await node.save(driftedConfig);
  await disk.empty();
  await upkeep.reason("Reconciling", "Reconciling");
  await readUntil(node.config, (text) => text === right);
  const { database } = upkeep.state.store;
  expect(
    database.prepare("SELECT count(*) AS n FROM event WHERE message LIKE 'ConfigReconciled is False (Empty)%'").get(),
  ).toEqual({
    n: 1,
  });
});

mounting(`reports a state database locked by another program until it is released${why}`, async () => {
  await using disk = await mountSmallDisk(2_048);
  await using node = await startFakeNode();
  await using upkeep = await runUpkeep(node, quick, { stateDirectory: disk.path });
  await upkeep.reason("ConfigReconciled", "Reconciled");
  using other = new DatabaseSync(join(disk.path, "upkeep.sqlite"));
  other.exec("BEGIN IMMEDIATE");
  upkeep.state.diskHistory.set(undefined);
  expect((await upkeep.reason("Reconciling", "InUse")).message).toContain("can't be written (database is locked)");
  other.exec("ROLLBACK");
  await upkeep.reason("Reconciling", "Reconciling");
});

mounting(
  `does not blame another writer for a read-only mount or a full disk, and corrects node.conf once it is writable${why}`,
  async () => {
    await using disk = await mountSmallDisk(64);
    const configPath = join(disk.path, "node.conf");
    await writeFile(configPath, driftedConfig);
    disk.remount("ro");
    await using node = await startFakeNode();
    await using upkeep = await runUpkeep(node, { ...quick, GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: configPath });
    expect((await upkeep.reason("ConfigReconciled", "LockFailed")).message).toContain("make the directory writable");
    disk.remount("rw");
    await upkeep.reason("ConfigReconciled", "Reconciled");
    await disk.fill();
    await writeFile(configPath, driftedConfig);
    expect((await upkeep.reason("ConfigReconciled", "WriteFailed")).message).toContain("ENOSPC: the disk is full");
    await upkeep.passes(5);
    expect(["Contested", "StartRewrites", "Locked"]).not.toContain(upkeep.board.get("ConfigReconciled")?.reason);
    expect(await upkeep.corrections()).toBe(1);
    expect(await readFile(configPath, "utf8")).toBe(driftedConfig);
    await disk.empty();
    await upkeep.reason("ConfigReconciled", "Reconciled");
    expect(await readFile(configPath, "utf8")).toContain('"storage_cetina_job_name": "node-7"');
  },
);

mounting(`reports a hung file system of node.conf, keeps reconciling, and stops in time${why}`, async () => {
  await using node = await startFakeNode();
  const resources = new AsyncDisposableStack();
  const upkeep = resources.use(await runUpkeep(node, { ...quick, GATEHOUSE_SIDECAR_UPKEEP_FILE_TIMEOUT_MS: "500" }));
  await upkeep.reason("ConfigReconciled", "Reconciled");
  using hanging = mountHangingDisk(node.binDirectory);
  const { message } = await upkeep.reason("ConfigReconciled", "Unresponsive");
  expect(message.replaceAll(node.configPath, "node.conf")).toMatch(
    /^node\.conf can't be read: (checking|reading) \S+ has hung since \S+Z \(limit: 500 ms\): the file system does not respond\./,
  );
  expect((await upkeep.reason("Reconciling", "Failing")).message).toMatch(
    /can't be read, because its file system hangs/,
  );
  const failures = () => upkeep.metric("gatehouse_reconcile_failures_total");
  const before = await failures();
  await readUntil(failures, (count) => count >= before + 3);
  // Threads are left for name lookups and other files.
  expect((await lookup("localhost")).address).toMatch(/127|::1/);
  await writeFile(join(node.workspace, "other"), "");
  hanging[Symbol.dispose]();
  await upkeep.reason("Reconciling", "Reconciling");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  using again = mountHangingDisk(node.binDirectory);
  await upkeep.reason("ConfigReconciled", "Unresponsive");
  // The disk hangs until after this.
  await resources.disposeAsync();
  again[Symbol.dispose]();
});
