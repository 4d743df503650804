import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { CommitGroups } from "./commit-groups.ts";
import { StoreError } from "./store.ts";

/** Opens a database whose flushes finish only when the test lets them. */
function openDatabase() {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE counter (id INTEGER PRIMARY KEY) STRICT");
  const flushes: PromiseWithResolvers<void>[] = [];
  const flush = () => {
    const next = Promise.withResolvers<void>();
    flushes.push(next);
    return next.promise;
  };
  const groups = new CommitGroups({ database, flush, runQuery: (work) => work() });
  const done: string[] = [];
  const insert = (id: number) => void database.prepare("INSERT INTO counter VALUES (?)").run(id);
  const note = (id: number, pendingWrite: Promise<void>) =>
    pendingWrite.then(
      () => void done.push(`${id}`),
      (error: Error) => void done.push(`${id}: ${error.message}`),
    );
  const write = (id: number) =>
    note(
      id,
      groups.write(() => insert(id)),
    );
  const writeInTransaction = (id: number) =>
    note(
      id,
      groups.transaction(async () => insert(id)),
    );
  const ids = () =>
    database
      .prepare("SELECT id FROM counter")
      .all()
      .map(({ id }) => id);
  return { groups, flushes, done, insert, write, writeInTransaction, ids };
}

/** Waits until all work that does not wait for a flush is done. */
const workAll = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
};

it("acknowledges a writer only after its commit is flushed, and flushes once for all waiting writers", async () => {
  const { flushes, done, write, ids } = openDatabase();
  const all = [write(1), write(2)];
  await workAll();
  all.push(write(3), write(4), write(5));
  await workAll();
  expect([ids(), done, flushes.length], "the second group waits for the first flush").toEqual([[1, 2], [], 1]);
  flushes[0]?.resolve();
  await workAll();
  expect([ids(), done, flushes.length]).toEqual([[1, 2, 3, 4, 5], ["1", "2"], 2]);
  flushes[1]?.resolve();
  await Promise.all(all);
  expect([done, flushes.length]).toEqual([["1", "2", "3", "4", "5"], 2]);
});

it("rolls back only the failed writer's statements in a group", async () => {
  const { groups, flushes, done, insert, write, writeInTransaction, ids } = openDatabase();
  const failedGroup = groups
    .transaction(async () => {
      insert(2);
      throw new Error("its own");
    })
    .catch((error: Error) => void done.push(error.message));
  const all = [write(1), failedGroup, write(1), writeInTransaction(1), writeInTransaction(3)];
  await workAll();
  flushes[0]?.resolve();
  await Promise.all(all);
  expect(ids()).toEqual([1, 3]);
  const taken = "1: UNIQUE constraint failed: counter.id";
  expect(done.toSorted()).toEqual(["1", taken, taken, "3", "its own"]);
});

it("shows readers no partial group, and reports when the data that they read is flushed", async () => {
  const { groups, flushes, done, insert, ids } = openDatabase();
  const pendingWrite = groups.transaction(async () => {
    insert(1);
    await Promise.resolve();
    insert(2);
  });
  const seen = new Promise((resolve) => setImmediate(() => resolve(groups.read(ids))));
  expect(await seen).toEqual([1, 2]);
  void groups.flushed().then(() => done.push("flushed"));
  await workAll();
  expect(done).toEqual([]);
  flushes[0]?.resolve();
  await pendingWrite;
  await groups.flushed();
  expect([done, flushes.length]).toEqual([["flushed"], 1]);
});

it("does not flush for an unsynced writer until the next synced one", async () => {
  const { groups, flushes, insert, write, ids } = openDatabase();
  await groups.write(() => insert(1), { isUnsynced: true });
  expect([ids(), flushes.length]).toEqual([[1], 0]);
  const all = [write(2), groups.write(() => insert(3), { isUnsynced: true })];
  await all[1];
  await workAll();
  expect([ids(), flushes.length]).toEqual([[1, 2, 3], 1]);
  flushes[0]?.resolve();
  await Promise.all(all);
  await groups.flushed();
  expect(flushes).toHaveLength(1);
});

it("stops after a failed flush, since the state on disk is unknown", async () => {
  const { groups, flushes, done, write, ids } = openDatabase();
  const all = [write(1)];
  await workAll();
  all.push(write(2));
  flushes[0]?.reject(new Error("EIO"));
  await Promise.all(all);
  const message = "the ledger file could not be flushed to disk; check the disk, then restart";
  expect(done).toEqual([`1: ${message}`, `2: ${message}`]);
  await expect(groups.read(ids)).rejects.toBeInstanceOf(StoreError);
  await expect(groups.flushed()).rejects.toThrow(message);
  expect(flushes).toHaveLength(1);
});
